#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Messages, help texts, manual pages and documents contain none of a list of
# ambiguous phrases.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program python3

cat >"$work/phrases" <<'END'
as things are
be it of
could lie better
does not go with
does not mind
held back
how it lies
in vain
is none of
is not meant for
it is said
left alone
lest
lie better
likewise
made anew
mend(ed|s)?
nobody
nor does
on another day
put in order
put together
since then
somebody
speaks? of
taken back
what is (free|left|mounted|there)
what was (freed|found|done)
who(ever)? (has|repairs|uses|wants)
with room for
END
same "at most 30 phrases" "$(($(wc -l <"$work/phrases") <= 30))" 1

cat >"$work/find.py" <<'END'
import glob, os, re, sys
top, phrases = sys.argv[1:]
phrase = re.compile(r"\b(" + "|".join(open(phrases).read().split("\n")[:-1]) +
                    r")\b", re.I)
string = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
comment = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

def texts(path):
    text = open(path, encoding="utf-8").read()
    if not path.endswith((".c", ".h", ".def", ".et")):
        return re.sub(r"\s+", " ", text)
    text = comment.sub("", text)
    # Join string literals that continue on the next line.
    text = re.sub(r'"\s*\n?\s*"', "", text)
    return "\n".join(string.findall(text))

pages = [p for pattern in ("*.md", "NEWS", "doc/*.md", "doc/*.7", "doc/fleet/*.md",
                           "lib/e4layout/*.3", "lib/e4layout/*.et", "misc/*.8",
                           "e2fsck/*.8", "debugfs/*.8", "tests/README.md",
                           "kernel/README.md", "lib/**/*.[ch]", "lib/**/*.def",
                           "misc/*.[ch]", "e2fsck/*.[ch]", "debugfs/*.[ch]")
         for p in glob.glob(os.path.join(top, pattern), recursive=True)]
bad = [f"{os.path.relpath(p, top)}: {m.group(0)}: ...{t[max(0, m.start() - 40):m.end() + 40]}..."
       for p in sorted(pages) for t in [texts(p)] for m in phrase.finditer(t)]
print("\n".join(b.replace("\n", " | ") for b in bad))
sys.exit(len(pages) < 50 or len(bad) > 0)
END
run python3 "$work/find.py" "$top_srcdir" "$work/phrases"
[ "$status" = 0 ] || { show_run; fail "reword these sentences"; }

# The search sees a phrase that continues on the next line.
mkdir -p "$work/top/misc"
printf 'char s[] = "is\\n"; char t[] = "x is none "\n"of";\n' >"$work/top/misc/a.c"
run python3 "$work/find.py" "$work/top" "$work/phrases"
grep -q '^misc/a.c: is none of' "$out" || fail "a phrase in two literals is not found"
