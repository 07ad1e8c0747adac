"""What a spreadsheet gets."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from replay.audit.report import Row, to_csv


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n\0")))
def test_no_cell_begins_a_formula(text: str) -> None:
    """Whatever an operator writes, it comes back as text, at most with an apostrophe before it."""
    [_, cells] = csv.reader(io.StringIO(to_csv([Row(1, 1.0, "commanded", text, text, "type", text, "")])))
    assert cells[3] in {text, f"'{text}"}
    assert not cells[3].startswith(("=", "+", "-", "@"))
