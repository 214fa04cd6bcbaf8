"""Small Excel workbooks, as bytes."""

import io
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
BOOK = f"""<?xml version="1.0"?><workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>
<sheet name="data" sheetId="1" r:id="r2"/><sheet name="notes" sheetId="2" r:id="r1"/></sheets></workbook>"""
PARTS = [
    ("worksheet", "worksheets/sheet2.xml"),
    ("worksheet", "worksheets/sheet1.xml"),
    ("sharedStrings", "sharedStrings.xml"),
]


def related(parts):
    entries = (
        f'<Relationship Id="r{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(parts, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}">{"".join(entries)}</Relationships>'


def sheet(rows):
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def packed(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def workbook(rows, strings=""):
    """Return a workbook with these rows on its first sheet, and shared strings, both in XML."""
    return packed(
        {
            "_rels/.rels": related([("officeDocument", "xl/workbook.xml")]),
            "xl/workbook.xml": BOOK,
            "xl/_rels/workbook.xml.rels": related(PARTS),
            "xl/worksheets/sheet1.xml": sheet(rows),
            "xl/worksheets/sheet2.xml": sheet('<row r="1"><c r="A1"><v>1</v></c></row>'),
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        }
    )
