/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_probe IMAGE: checks the image like the tools after writing. */
#include "config.h"
#include "support/verify.h"
#include "support/say.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		return STATUS_USAGE;
	initialize_ext2_error_table();
	initialize_e4l_error_table();
	return verify(argv[1], 0) ? STATUS_DONE : STATUS_FAILED;
}
