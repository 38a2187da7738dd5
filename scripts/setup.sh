# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Common functions of quickstart and check: sourced, with $top set.
: "${top:?}"
PATH=$PATH:/usr/sbin:/sbin
export PATH

# listed_packages ARCHITECTURE KIND...: prints the packages of KIND in
# scripts/packages, without the packages that Debian lacks on ARCHITECTURE.
listed_packages() {
	listed_for=$1
	shift
	for kind; do
		awk -v kind="$kind" -v without="!$listed_for" '$1 == kind {
			for (i = 3; i <= NF && $i != without; i++)
				;
			if (i > NF)
				print $2
		}' "$top/scripts/packages"
	done
}

# missing_packages KIND...: prints the packages of KIND in scripts/packages that
# are not installed.
missing_packages() {
	listed_packages "$(dpkg --print-architecture)" "$@" |
		while read -r package; do
		dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null |
			grep -q '^install ok installed$' || echo "$package"
	done | tr '\n' ' '
}

# need_packages KIND...: root installs missing packages.  For other users, prints
# the command that installs the packages, and exits.
need_packages() {
	command -v dpkg-query >/dev/null || return 0	# configure reports it
	missing=$(missing_packages "$@")
	[ "$missing" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "Packages are missing.  As root, run:" >&2
		echo "  apt-get install --no-install-recommends $missing" >&2
		exit 1
	fi
	echo "Installing: $missing"
	apt-get -q update
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
		--no-install-recommends $missing
}

# build DIR OPTION...: configures if necessary, and builds in DIR.
build() {
	dir=$1
	shift
	[ -x "$top/configure" ] || "$top/autogen.sh" >/dev/null 2>&1 ||
		"$top/autogen.sh"
	mkdir -p "$dir"
	# libext2fs computes checksums if Debian lacks ISA-L for the
	# architecture
	pkg-config --exists libisal || set -- --without-isal "$@"
	# with bash, which configure prefers, libtool takes twice as long as
	# with dash
	[ -f "$dir/Makefile" ] || (cd "$dir" && CONFIG_SHELL=/bin/sh \
		/bin/sh "$top/configure" -q "$@") || return
	make -s -C "$dir" -j"$(nproc)"
}
