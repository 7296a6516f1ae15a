"""Tables in Markdown whose columns line up on a terminal, too."""

Row = list[str]


def show(title: str, header: Row, rows: list[Row]) -> None:
    if not rows:
        return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n## {title}\n")
    print(_line(header, widths))
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print(_line(row, widths))
    print(flush=True)


def _line(row: Row, widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
