// SPDX-License-Identifier: GPL-2.0-or-later

//! writers NAME IMAGE: makes a small ext2, ext3 or ext4 image with a crate.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use arcbox_ext4::constants::{file_mode, make_mode};

const IMAGE_BYTES: u64 = 16 << 20;
const FILES: u64 = 40;
const TARGET: &str = "a/target/that/is/longer/than/an/inode/has/room/for/in/its/block/map";

type Outcome = Result<(), Box<dyn Error>>;

fn content(i: u64) -> Vec<u8> {
    b"text\n".repeat(100 * i as usize)
}

fn mkext4(image: &str) -> Outcome {
    use mkext4::{FsBuilder, InodeCount, Meta, Options, SpecialKind, ROOT};

    let meta = || Meta::new(0o755, 1000, 1000, (1_700_000_000, 5));
    let mut options = Options::new(IMAGE_BYTES, *b"a-uuid-of-mkext4", 1_700_000_000);
    options.inodes = InodeCount::Exact(512);
    let mut b = FsBuilder::new(options)?;
    let dir = b.mkdir(ROOT, "dir", meta())?;
    let mut files = Vec::new();
    for i in 0..FILES {
        let name = format!("file{i}");
        files.push((i, b.file(dir, &name, meta(), content(i).len() as u64)?));
    }
    b.hardlink(dir, "hardlink", files[3].1)?;
    b.symlink(dir, "short", "file1", meta())?;
    b.symlink(dir, "long", TARGET, meta())?;
    b.mknod(dir, "fifo", meta(), SpecialKind::Fifo)?;
    b.set_xattr(files[1].1, "user.small", b"value")?;
    b.set_xattr(files[2].1, "user.large", &[b'x'; 900])?;
    let many = b.mkdir(ROOT, "many", meta())?;
    for i in 0..300 {
        b.file(many, &format!("a-name-of-some-length-{i}"), meta(), 0)?;
    }
    let layout = b.seal()?;
    let mut sink = mkext4::sink::FileSink::create(Path::new(image), layout.image_len())?;
    let mut w = layout.writer(&mut sink)?;
    for (i, file) in files.into_iter().filter(|f| f.0 > 0) {
        w.fill(file, &mut content(i).as_slice())?;
    }
    w.finish()?;
    Ok(())
}

fn arcbox(image: &str) -> Outcome {
    let mut b = arcbox_ext4::Formatter::new(Path::new(image), 4096, IMAGE_BYTES)?;
    let regular = make_mode(file_mode::S_IFREG, 0o644);
    let large = HashMap::from([("user.large".to_string(), vec![b'x'; 900])]);
    let small = HashMap::from([("user.small".to_string(), b"value".to_vec())]);
    b.create("/dir", make_mode(file_mode::S_IFDIR, 0o755), None, None, None, None, None, None)?;
    for i in 0..FILES {
        let xattrs = match i {
            1 => Some(&small),
            2 => Some(&large),
            _ => None,
        };
        let text = content(i);
        b.create(&format!("/dir/file{i}"), regular, None, None,
                 Some(&mut text.as_slice()), Some(1000), Some(1000), xattrs)?;
    }
    let symlink = make_mode(file_mode::S_IFLNK, 0o777);
    b.create("/dir/short", symlink, Some("file1"), None, None, None, None, None)?;
    b.create("/dir/long", symlink, Some(TARGET), None, None, None, None, None)?;
    b.link("/dir/hardlink", "/dir/file3")?;
    b.close()?;
    Ok(())
}

fn lwext4(image: &str, options: ext4_lwext4::MkfsOptions) -> Outcome {
    use ext4_lwext4::{mkfs, Ext4Fs, FileBlockDevice, OpenFlags};

    mkfs(FileBlockDevice::create(image, IMAGE_BYTES)?, &options)?;
    let fs = Ext4Fs::mount(FileBlockDevice::open(image)?, false)?;
    fs.mkdir("/dir", 0o755)?;
    for i in 0..FILES {
        let path = format!("/dir/file{i}");
        let mut file = fs.open(&path, OpenFlags::CREATE | OpenFlags::WRITE)?;
        file.write_all(&content(i))?;
    }
    fs.symlink("file1", "/dir/short")?;
    fs.symlink(TARGET, "/dir/long")?;
    fs.link("/dir/file3", "/dir/hardlink")?;
    fs.remove("/dir/file5")?;
    fs.umount()?;
    Ok(())
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();
    let [_, name, image] = &args[..] else {
        return Err("usage: writers NAME IMAGE".into());
    };
    match name.as_str() {
        "mkext4" => mkext4(image),
        "arcbox" => arcbox(image),
        "lwext2" => lwext4(image, ext4_lwext4::MkfsOptions::ext2()),
        "lwext3" => lwext4(image, ext4_lwext4::MkfsOptions::ext3()),
        "lwext4" => lwext4(image, ext4_lwext4::MkfsOptions::ext4()),
        _ => Err("no writer of this name".into()),
    }
}
