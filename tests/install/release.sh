#!/bin/bash
# release.sh - `make dist` twice gives the same bytes, and its lists are valid.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs git
"$SOURCE/packaging/dist" -o "$WORK/one" > /dev/null 2>&1
git clone -q "$SOURCE" "$WORK/clone" # another folder, other times and another umask
(umask 077 && cd "$WORK/clone" && find . -newermt 2000-01-01 -not -path './.git/*' -exec touch -d 2001-02-03 {} + &&
    packaging/dist -o "$WORK/two" > /dev/null)
diff -r "$WORK/one" "$WORK/two"
(cd "$WORK/one" && sha256sum -c --quiet SHA256SUMS)
! tar -t -f "$WORK"/one/kerbin-*.tar.gz | grep -E '/(build|dist)[^/]*/|\.git/|__pycache__'

# An SBOM for CycloneDX's schema, a CITATION.cff for cffconvert, and the conda recipe for rattler-build.
tools=$CACHE/release-tools
if [ ! -e "$tools/complete" ]; then
    python3 -m venv --clear "$tools" &&
        "$tools/bin/pip" install -q --disable-pip-version-check 'cyclonedx-python-lib>=8' jsonschema referencing \
            rfc3339-validator py-rattler-build PyYAML && touch "$tools/complete" ||
        skip "the archive is reproducible; the tools that check its lists cannot be installed"
fi
"$tools/bin/python" - "$WORK"/one/kerbin-*.cdx.json << 'END'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(fault and str(fault))
END
"$tools/bin/python" "$SOURCE/packaging/check-recipe" > /dev/null
[ -e "$tools/cff/complete" ] || {
    python3 -m venv --clear "$tools/cff"
    "$tools/cff/bin/pip" install -q --disable-pip-version-check cffconvert && touch "$tools/cff/complete"
}
"$tools/cff/bin/cffconvert" --validate -i "$SOURCE/CITATION.cff"
sha256sum "$WORK"/one/kerbin-*.tar.gz
