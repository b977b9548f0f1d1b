from pathlib import Path

DATA = Path(__file__).parent / "data"


class AddSuite:
    files = sorted(file.name for file in DATA.glob("check-*.test"))
