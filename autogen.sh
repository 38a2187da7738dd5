#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes ./configure from a checkout.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --force
