"""The cluster's usage as a manager's round sees it, one class for each scheduler mode."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class NodeStats:
    maxcpu: float
    maxmem: float
    cpu: float
    mem: float

    def load(self) -> float:
        return (self.cpu / self.maxcpu + self.mem / self.maxmem) / 2.0


@dataclass(slots=True, frozen=True)
class ResourceStats:
    cpu: float
    mem: float
    maxcpu: float
    maxmem: float


@dataclass(slots=True, frozen=True)
class Scored:
    resource: str
    source: str
    target: str
    imbalance: float


@dataclass(slots=True, frozen=True)
class Bundle:
    leader: str
    resources: tuple[str, ...]
    targets: tuple[str, ...]


class UsageProblem(Exception):
    pass


class Usage(ABC):
    def __init__(self, nodes): self._nodes = tuple(sorted(nodes)); self._res = {}
    def nodes(self): return self._nodes
    def add(self, resource, current, target, running):
        if current is None and target is None: return None
        if current is None: current, target = target, None
        self._res[resource] = (current, target, running)
        return None
    def remove(self, resource): self._res.pop(resource, None)
    def imbalance(self): return 0.0
    def best_motions(self, bundles, method, limit): return []
    def node_stats(self): return {}


class BasicUsage(Usage):
    def start_scores(self, resource):
        out = dict.fromkeys(self._nodes, 0.0)
        for c, t, _ in self._res.values():
            for n in (c, t):
                if n in out: out[n] += 1
        return out


def _imb(loads):
    n = len(loads)
    if n < 2: return 0.0
    s = 0.0
    for l in loads: s += l
    if s == 0: return 0.0
    m = s / n
    q = 0.0
    for l in loads: q += (l - m) ** 2
    return math.sqrt(q / n) / m / math.sqrt(n - 1)

W = [1/18, 2/18, 5/18, 10/18]
def _alt(stats):
    hc = hm = sc = sm = 0.0
    for cpu, mem, mc, mm in stats:
        c = cpu / mc; hc = max(hc, c); sc += c * c
        m = mem / mm; hm = max(hm, m); sm += m * m
    n = len(stats)
    return [1 + math.sqrt(sc / n), 1 + hc, 1 + math.sqrt(sm / n), 1 + hm]

def _scores(matrix):
    cols = list(zip(*matrix))
    ncols = []
    for col in cols:
        d = math.sqrt(sum(v * v for v in col))
        ncols.append([v / d if d else v for v in col])
    best = [min(c) for c in ncols]; worst = [max(c) for c in ncols]
    out = []
    for row in zip(*ncols):
        b = math.sqrt(sum(((v - x) * w) ** 2 for v, x, w in zip(row, best, W)))
        wo = math.sqrt(sum(((v - x) * w) ** 2 for v, x, w in zip(row, worst, W)))
        out.append(wo / (wo + b) if wo + b else 0.0)
    return out


class LoadedUsage(Usage):
    mode = ""
    def __init__(self, node_stats, resource_stats):
        super().__init__(node_stats); self._ns = node_stats; self._rs = resource_stats
    def add(self, resource, current, target, running):
        if current is None and target is None: return None
        if resource not in self._rs:
            return f"did not get {self.mode} service usage information for '{resource}'"
        return super().add(resource, current, target, running)
    def _base(self): raise NotImplementedError
    def node_stats(self):
        return {n: NodeStats(mc, mm, c, m) for n, (c, m, mc, mm) in zip(self._nodes, self._base())}
    def bundle_load(self, resources):
        return sum(self._st(r).cpu for r in resources), sum(self._st(r).mem for r in resources)
    def _st(self, r): return self._rs[r]
    def imbalance(self):
        return _imb([(c / mc + m / mm) / 2 for c, m, mc, mm in self._base()])
    def _cands(self, bundles):
        for b in bundles:
            if b.leader not in self._res: raise UsageProblem(f"leader '{b.leader}' is not present in the cluster usage")
            src = self._res[b.leader][0]
            cpu, mem = self.bundle_load(b.resources)
            for t in b.targets: yield b.leader, src, t, cpu, mem
    def _moved(self, src, t, cpu, mem):
        out = []
        for n, (c, m, mc, mm) in zip(self._nodes, self._base_cache):
            if n == src: c = max(0.0, c - cpu); m = max(0, m - mem)
            elif n == t: c += cpu; m += mem
            out.append((c, m, mc, mm))
        return out
    def best_motions(self, bundles, method, limit):
        self._base_cache = self._base()
        cs = list(self._cands(bundles))
        if not cs: return []
        def imb(c):
            v = _imb([(a / mc + m / mm) / 2 for a, m, mc, mm in self._moved(*c[1:])])
            return math.trunc(v * 1e15) / 1e15
        if method == "bruteforce":
            res = sorted((imb(c), c[0], c[1], c[2]) for c in cs)[:limit]
            return [Scored(r, s, t, i) for i, r, s, t in res]
        sc = _scores([_alt(self._moved(*c[1:])) for c in cs])
        order = sorted(range(len(cs)), key=lambda i: -sc[i])[:limit]
        return [Scored(cs[i][0], cs[i][1], cs[i][2], imb(cs[i])) for i in order]
    def _start_base(self): return self._base()
    def start_scores(self, resource):
        if resource not in self._rs: raise UsageProblem(f"did not get {self.mode} service usage information for '{resource}'")
        r = self._rs[resource]; base = self._start_base(); mat = []
        for i in range(len(base)):
            b = list(base); c, m, mc, mm = b[i]
            b[i] = (c + (r.maxcpu or mc), m + r.maxmem, mc, mm); mat.append(_alt(b))
        return {n: -s for n, s in zip(self._nodes, _scores(mat))}


class StaticUsage(LoadedUsage):
    mode = "static"
    def _base(self):
        acc = {n: [0.0, 0] for n in self._nodes}
        for rid in sorted(self._res):
            c, t, _ = self._res[rid]; r = self._rs[rid]
            for n in (c, t):
                if n in acc: acc[n][0] += r.maxcpu or int(self._ns[n].maxcpu); acc[n][1] += r.maxmem
        return [(acc[n][0], acc[n][1], int(self._ns[n].maxcpu), int(self._ns[n].maxmem)) for n in self._nodes]


class DynamicUsage(LoadedUsage):
    mode = "dynamic"
    def _base(self):
        return [(s.cpu, s.mem, int(s.maxcpu), s.maxmem) for s in (self._ns[n] for n in self._nodes)]
    def _start_base(self):
        acc = {n: [self._ns[n].cpu, self._ns[n].mem] for n in self._nodes}
        for rid in sorted(self._res):
            c, t, running = self._res[rid]
            if running: continue
            r = self._rs[rid]
            for n in (c, t):
                if n in acc: acc[n][0] += r.maxcpu or self._ns[n].maxcpu; acc[n][1] += r.maxmem
        return [(acc[n][0], acc[n][1], int(self._ns[n].maxcpu), self._ns[n].maxmem) for n in self._nodes]
