// SPDX-License-Identifier: GPL-2.0-or-later

// writers NAME IMAGE: makes a small ext4 image with a Go module.  hcsshim and
// hcsshim-inline read a tar archive from standard input.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/Microsoft/hcsshim/ext4/tar2ext4"
	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
)

const imageBytes = 16 << 20

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "writers:", err)
		os.Exit(1)
	}
}

func fromTar(image string, options ...tar2ext4.Option) {
	out, err := os.Create(image)
	check(err)
	check(tar2ext4.ConvertTarToExt4(os.Stdin, out, options...))
	check(out.Close())
}

func write(fs *ext4.FileSystem, name, content string) {
	f, err := fs.OpenFile(name, os.O_CREATE|os.O_RDWR)
	check(err)
	_, err = f.Write([]byte(content))
	check(err)
	check(f.Close())
}

func diskfs(image string, checksum bool) {
	storage, err := file.CreateFromPath(image, imageBytes)
	check(err)
	fs, err := ext4.Create(storage, imageBytes, 0, 512,
		&ext4.Params{Checksum: checksum})
	check(err)
	check(fs.Mkdir("dir"))
	check(fs.Mkdir("dir/sub"))
	for i := 0; i < 40; i++ {
		write(fs, fmt.Sprintf("dir/file%d", i),
			strings.Repeat("text\n", 100*i))
	}
	check(fs.Symlink("file1", "dir/link"))
	check(storage.Close())
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: writers NAME IMAGE")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "diskfs":
		diskfs(os.Args[2], false)
	case "diskfs-csum":
		diskfs(os.Args[2], true)
	case "hcsshim":
		fromTar(os.Args[2])
	case "hcsshim-inline":
		fromTar(os.Args[2], tar2ext4.InlineData)
	default:
		fmt.Fprintln(os.Stderr, "writers: no writer of this name")
		os.Exit(2)
	}
}
