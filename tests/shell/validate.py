#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""validate.py SCHEMA DOCUMENT [lines]: exits with 0 if the document, or each of
its lines, is valid, and with 77 if the module jsonschema is missing."""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
with open(sys.argv[2], encoding="utf-8") as f:
    documents = list(f) if sys.argv[3:] == ["lines"] else [f.read()]
bad = 0
for text in documents:
    for error in validator.iter_errors(json.loads(text)):
        print(f"{sys.argv[2]}: {list(error.path)}: {error.message}",
              file=sys.stderr)
        bad = 1
sys.exit(bad)
