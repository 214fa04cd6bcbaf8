"""Coverage-guided fuzzing of one reader with atheris, where it is installed.

python tests/fuzz/fuzz_readers.py graphml -max_total_time=60
"""

import sys
import tempfile


def main():
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris")
    with atheris.instrument_imports(include=["grnf.io"]):
        from readers import FORMATS, read_all, valid_bytes
    if len(sys.argv) < 2 or sys.argv[1] not in FORMATS:
        sys.exit(f"usage: fuzz_readers.py FORMAT [options of libFuzzer]; formats: {', '.join(FORMATS)}")
    name = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as corpus:
        with open(f"{corpus}/valid", "wb") as file:
            file.write(valid_bytes(name))
        atheris.Setup([*sys.argv, corpus], lambda data: read_all(name, data, folder))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
