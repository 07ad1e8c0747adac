"""What a service printed is read back piece by piece, whatever the files do meanwhile."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from haes.drivers.process.output import OLDER
from haes.drivers.process.said import ANSWER_SIZE, read_said


def test_the_last_lines_come_first_and_then_what_is_new(tmp_path: Path) -> None:
    """A position goes on where it was, and what looks like a secret is masked here, too."""
    path = tmp_path / "process-a.log"
    path.write_text("one\ntwo\ntoken=abc\n")
    lines, position = read_said(path, 2, "", [])
    assert lines == ["two", "token=***"]
    assert read_said(path, 9, position, []) == ([], position)
    with path.open("a") as file:
        file.write("three\nfo")
    lines, position = read_said(path, 9, position, [])
    assert lines == ["three"]
    with path.open("a") as file:
        file.write("ur\n")
    assert read_said(path, 9, position, [])[0] == ["four"]


def test_too_much_at_once_is_cut_at_its_beginning(tmp_path: Path) -> None:
    """An answer stays bounded, whatever was printed since."""
    path = tmp_path / "process-a.log"
    path.write_text("begin\n" + "x" * 50 + "\n" * 3 + ("0123456 89\n" * (2 * ANSWER_SIZE // 11)))
    lines, _ = read_said(path, 10_000, "", [])
    assert len(lines) == 1000
    assert set(lines) == {"0123456 89"}


def test_a_service_that_printed_nothing_has_no_lines(tmp_path: Path) -> None:
    """No file, no lines."""
    assert read_said(tmp_path / "process-a.log", 9, "", []) == ([], "")


_STEPS = st.lists(st.one_of(st.text("ab\n", max_size=9), st.just("rotate")), max_size=20)


@given(_STEPS)
def test_no_line_is_lost_or_told_twice(steps: list[str]) -> None:
    """Written, rotated and read in any order, every whole line comes out once, in its order."""
    import tempfile  # noqa: PLC0415 - hypothesis runs a test many times in one folder of pytest's

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "process-a.log"
        path.write_text("begin\n")
        written, read = "begin\n", []
        lines, position = read_said(path, 99, "", [])
        read += lines
        for step in steps:
            if step == "rotate":
                # A file that is full has whole lines in it.
                if "\n" not in path.read_text():
                    continue
                path.replace(path.with_name(path.name + OLDER))
                path.touch()
            else:
                with path.open("a") as file:
                    file.write(step)
                written += step
            lines, position = read_said(path, 99, position, [])
            read += lines
        whole = written[: written.rfind("\n") + 1]
        assert read == [line for line in whole.split("\n") if line]
