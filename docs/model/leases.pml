/*
 * Leases, tokens, epochs, the watchdog and recovery: 2 managers, 2 nodes, 1 service. README.md says how to read it.
 *
 * What holds, whatever is slow, stopped, restarted or cut off, and in whatever order things happen:
 *   1. the service never runs on two nodes
 *   2. a decision is on the record only under the current token of the leader's lease, so that epochs never fall
 *
 * Time is counted in ticks. A lease has some ticks left on the server; its holder believes in at most as many, because
 * it counts from before it asked. What the program does between two awaits is one atomic step here; between two steps
 * anything else may happen, for as long as one likes. A batch that is refused because a subject changed leaves nothing
 * behind, so only those are shown that are not: their decision fits the record at the moment of the append.
 *
 * Faults to put back (spin -DNAME): OWN_LEASE, NO_PROOF, NO_WATCHDOG, NO_TOKEN, OLD_LEASES, LATE_LOOK, LATE_JOB.
 */

#ifndef LEADER_TERM
#define LEADER_TERM 1   /* ticks of a lease */
#endif
#ifndef AGENT_TERM
#define AGENT_TERM 1
#endif
#ifndef LEADERS
#define LEADERS 2       /* how often a lease is acquired at most: what keeps the model finite */
#endif
#ifndef AGENTS
#define AGENTS 2
#endif

#define LEADER 0                                /* leases: the leader's, and one for each agent */
#define OF_AGENT(n) ((n) + 1)
#define AGENT(n) ((n) + 2)                      /* their holders: managers 0 and 1, agents 2 and 3 */
#define LEASE_OF(who) ((who) < 2 -> LEADER : (who) - 1)
#define TERM_OF(which) ((which) == LEADER -> LEADER_TERM : AGENT_TERM)

/* ---- the log: leases, and the fold of what is on the record ---- */

typedef Lease { byte holder; byte epoch; byte left }
Lease lease[3];

mtype = { started, moving, moved, fence };
mtype status = started;         /* of the service */
bit place = 0;                  /* the node that it belongs to */
bool waits[2];                  /* node: its agent began anew and has not taken its lock */

/* ---- what each process believes ---- */

byte token[4];                  /* holder: the epoch of its token */
byte term[4];                   /* holder: ticks until its lease is over, by its own clock */
bool over[2];                   /* manager: the lease of the service's agent was over when it read the leases */
bool fencing[4];                /* manager * 2 + node: it took the agent's lease in order to fence */

mtype = { beginning, waiting, working };
mtype agent[2] = working;
mtype = { idle };
mtype order[2];                 /* node: status of the service as its agent has folded it; idle when not there */
bool outdated[2];               /* node: written to since its agent looked in order to begin anew */

/* ---- a node: its keeper, the jobs of its agent, its service ---- */

byte fed[2];                    /* ticks until the keeper kills; with 0 it starts nothing */
byte seen[2];                   /* highest epoch that was shown to the keeper */
bool fired[2];                  /* it killed, and the agent does not know yet */
byte job[2];                    /* a start on its way: the epoch under which it was begun; 0 for none */
bool runs[2];

#define HOLDS(who, epoch_) (lease[LEASE_OF(who)].holder == who && lease[LEASE_OF(who)].epoch == epoch_ && \
                            lease[LEASE_OF(who)].left > 0)
#define VALID(who) (term[who] > 0)

#ifdef NO_TOKEN
#define KEEPER_ALLOWS(n, epoch_) (true)
#else
#define KEEPER_ALLOWS(n, epoch_) (epoch_ >= seen[n])
#endif

/* The log's answer comes at once, late or never: the holder counts on anything up to what the log grants. */
inline answered(who, before) {
  if
  :: term[who] = before
  :: term[who] = 1
  :: term[who] = TERM_OF(LEASE_OF(who))
  fi
}

inline acquire(who, which) {
  lease[which].holder = who;
  lease[which].epoch = lease[which].epoch + 1;
  lease[which].left = TERM_OF(which)
}

inline follow(n) {
  order[n] = (place == n && status != moved -> status : idle)
}

/* ---- a manager ---- */

inline append_decision(m) {
  if
  :: status == started ->                       /* somebody asked for a motion */
       assert(HOLDS(m, token[m])); status = moving
  :: status == moved ->
       assert(HOLDS(m, token[m])); status = started; place = 1 - place
#ifdef NO_PROOF
  :: status != fence ->
#else
  :: status != fence && over[m] ->              /* the lease of its node's agent was over */
#endif
       assert(HOLDS(m, token[m])); status = fence; outdated[place] = true
  :: status == fence && (fencing[m * 2 + place] || (there && waits[place])) ->
       assert(HOLDS(m, token[m])); status = started; outdated[place] = true; place = 1 - place
  :: else
  fi
}

proctype Manager(bit m) {
  bool there;                   /* when it read the leases, the agent of the service's node held its own */

  do
  /* _stand_by: takes the leader's lease when it is free. */
  :: atomic { lease[LEADER].left == 0 && lease[LEADER].epoch < LEADERS ->
       acquire(m, LEADER); token[m] = lease[LEADER].epoch; answered(m, 0)
     }
  /* _round: it leads and reads the leases; */
  :: atomic { VALID(m) ->
       over[m] = lease[OF_AGENT(place)].left == 0;
       there = !over[m] && lease[OF_AGENT(place)].holder == AGENT(place)
     };
     if
     /* decides, and sends its batch under the leader's lease, which the log looks at when the batch arrives; */
     :: VALID(m) ->
          atomic {
            if
            :: HOLDS(m, token[m]) -> append_decision(m)
            :: else
            fi;
            over[m] = false; there = false
          }
     /* or the lease is over by then: nothing is sent. */
     :: atomic { !VALID(m) ->
#ifdef OWN_LEASE
          append_decision(m);
#endif
          over[m] = false; there = false
        }
     fi
  /* _fence_wanted: takes the lease of a node that is to be fenced, where it is over, */
  :: atomic { status == fence && lease[OF_AGENT(place)].left == 0 && lease[OF_AGENT(place)].epoch < AGENTS &&
       !fencing[m * 2 + place] && token[m] > 0 ->
         acquire(m, OF_AGENT(place)); fencing[m * 2 + place] = true
     }
  /* and gives it back when it is not needed any more. */
  :: atomic { fencing[m * 2] && !(status == fence && place == 0) ->
       fencing[m * 2] = false;
       lease[1].left = (lease[1].holder == m -> 0 : lease[1].left)
     }
  :: atomic { fencing[m * 2 + 1] && !(status == fence && place == 1) ->
       fencing[m * 2 + 1] = false;
       lease[2].left = (lease[2].holder == m -> 0 : lease[2].left)
     }
  od
}

/* ---- an agent ---- */

/* What a manager read of the agent's lease before this says nothing any more. */
inline append_about_node(n) {
#ifndef OLD_LEASES
  if
  :: place == n -> over[0] = false; over[1] = false
  :: else
  fi;
#endif
  follow(n)
}

/* Whatever the agent has on its way does nothing any more. */
inline void_jobs(n) {
#ifndef LATE_JOB
  job[n] = 0
#else
  skip
#endif
}

proctype Agent(bit n) {
  do
  /* _begin: kills what does not belong here, */
  :: atomic { agent[n] == beginning && VALID(AGENT(n)) ->
       void_jobs(n);
       seen[n] = token[AGENT(n)];
       outdated[n] = false;
#ifndef LATE_LOOK
       follow(n);
#endif
       if
       :: order[n] == idle || order[n] == fence -> runs[n] = false
       :: else
       fi;
       fired[n] = false
     };
#ifdef LATE_LOOK
     outdated[n] = false;       /* the batch is made only now: on a state that nothing was compared with */
#endif
     /* and says that it is there and has not taken its lock; the log refuses that if the node was written to. */
     atomic {
       if
       :: VALID(AGENT(n)) && HOLDS(AGENT(n), token[AGENT(n)]) && !outdated[n] ->
            waits[n] = true; agent[n] = waiting; append_about_node(n)
       :: else
       fi;
       outdated[n] = false
     }
  /* _round while it waits: takes its lock when there is work and nothing is to be fenced. */
  :: atomic { agent[n] == waiting && VALID(AGENT(n)) && HOLDS(AGENT(n), token[AGENT(n)]) &&
       place == n && status != fence ->
         waits[n] = false; agent[n] = working; append_about_node(n)
     }
  /* _round while it works: begins a start in a thread, */
  :: atomic { agent[n] == working && VALID(AGENT(n)) && order[n] == started && !runs[n] && job[n] == 0 ->
       job[n] = token[AGENT(n)]
     }
  /* stops what is to move away, and reports that it is gone. */
  :: atomic { agent[n] == working && VALID(AGENT(n)) && order[n] == moving && job[n] == 0 && runs[n] &&
       KEEPER_ALLOWS(n, token[AGENT(n)]) ->
         seen[n] = token[AGENT(n)]; runs[n] = false
     }
  :: atomic { agent[n] == working && VALID(AGENT(n)) && HOLDS(AGENT(n), token[AGENT(n)]) &&
       order[n] == moving && !runs[n] && job[n] == 0 && status == moving && place == n ->
         status = moved; follow(n)
     }
  /* _work: begins anew when its keeper killed, or when its node is to be fenced. */
  :: atomic { agent[n] == working && (fired[n] || order[n] == fence) -> agent[n] = beginning }
  od
}

/* ---- what goes on beside that: renewals, threads, the keeper, restarts, time ---- */

proctype Renewals(byte who) {
  do
  /* HeldLease.renew */
  :: atomic { HOLDS(who, token[who]) -> lease[LEASE_OF(who)].left = TERM_OF(LEASE_OF(who)); answered(who, term[who]) }
  od
}

proctype Node(bit n) {
  do
  /* Replica.follow */
  :: atomic { order[n] != (place == n && status != moved -> status : idle) -> follow(n) }
  /* AgentWorker._lost_lease: takes its lease again when nobody holds it; what it has on its way is void. */
  :: atomic { lease[OF_AGENT(n)].left == 0 && lease[OF_AGENT(n)].epoch < AGENTS ->
       void_jobs(n);
       acquire(AGENT(n), OF_AGENT(n)); token[AGENT(n)] = lease[OF_AGENT(n)].epoch; answered(AGENT(n), 0);
       agent[n] = beginning
     }
  /* Worker._take_lease: it was killed, and a new process seizes the lease; what it asked for is on its way still. */
  :: atomic { lease[OF_AGENT(n)].holder == AGENT(n) && lease[OF_AGENT(n)].epoch < AGENTS ->
       acquire(AGENT(n), OF_AGENT(n)); token[AGENT(n)] = lease[OF_AGENT(n)].epoch; answered(AGENT(n), 0);
       agent[n] = beginning
     }
  /* AgentWorker._renew: feeds the keeper, up to the end of the lease. */
  :: atomic { VALID(AGENT(n)) && fed[n] != term[AGENT(n)] && KEEPER_ALLOWS(n, token[AGENT(n)]) ->
       seen[n] = token[AGENT(n)]; fed[n] = term[AGENT(n)]
     }
  /* Keeper._start: a job arrives; it is refused while the keeper is not fed, and for an old token. */
  :: atomic { job[n] != 0 ->
       if
       :: fed[n] > 0 && KEEPER_ALLOWS(n, job[n]) ->
            seen[n] = (job[n] > seen[n] -> job[n] : seen[n]); runs[n] = true;
            assert(!(runs[0] && runs[1]))
       :: else
       fi;
       job[n] = 0
     }
  od
}

inline pass(counter) { counter = (counter > 0 -> counter - 1 : 0) }

/* Keeper._fire: it kills at its deadline, whatever the agent is doing. */
inline pass_on_node(n) {
  if
  :: fed[n] == 1 -> fed[n] = 0; fired[n] = true;
#ifndef NO_WATCHDOG
     runs[n] = false
#endif
  :: else -> pass(fed[n])
  fi
}

proctype Clock() {
  do
  :: atomic {
       pass(lease[0].left); pass(lease[1].left); pass(lease[2].left);
       pass(term[0]); pass(term[1]); pass(term[2]); pass(term[3]);
       pass_on_node(0); pass_on_node(1)
     }
  od
}

/* Manager 0 leads, both agents work, the service runs on node 0. */
init {
  atomic {
    lease[LEADER].holder = 0; lease[LEADER].epoch = 1; lease[LEADER].left = LEADER_TERM;
    token[0] = 1; term[0] = LEADER_TERM;
    byte n = 0;
    do
    :: n < 2 ->
         lease[OF_AGENT(n)].holder = AGENT(n); lease[OF_AGENT(n)].epoch = 1; lease[OF_AGENT(n)].left = AGENT_TERM;
         token[AGENT(n)] = 1; term[AGENT(n)] = AGENT_TERM; fed[n] = AGENT_TERM; seen[n] = 1; follow(n);
         n = n + 1
    :: else -> break
    od;
    runs[0] = true;
    run Manager(0); run Manager(1); run Agent(0); run Agent(1);
    run Renewals(0); run Renewals(1); run Renewals(AGENT(0)); run Renewals(AGENT(1));
    run Node(0); run Node(1); run Clock()
  }
}
