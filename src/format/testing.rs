//! Small inputs for tests, written by hand so that each byte can be wrong.

/// Which kind and flags an entry gets, and its payload.
pub(crate) struct Entry<'a> {
    pub kind: u16,
    pub arch: u32,
    pub flags: u64,
    pub payload: &'a [u8],
    /// Not zero means compressed.
    pub unpacked: u64,
    pub name: &'a str,
    pub options: &'a str,
}

pub(crate) const fn entry(kind: u16, arch: u32, payload: &[u8]) -> Entry<'_> {
    Entry {
        kind,
        arch,
        flags: 0x11,
        payload,
        unpacked: 0,
        name: "",
        options: "",
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// A text with its NUL, padded.
fn extra(text: &str) -> Vec<u8> {
    if text.is_empty() {
        return Vec::new();
    }
    padded(&[text.as_bytes(), &[0]].concat())
}

impl Entry<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let name = extra(self.name);
        let options = extra(self.options);
        let mut extras = name.clone();
        let mut aux_at = 0;
        if !options.is_empty() {
            aux_at = 64 + extras.len() as u32;
            extras.extend((aux_at + 8).to_le_bytes());
            extras.extend((self.options.len() as u32).to_le_bytes());
            extras.extend(options);
        }
        self.with_header(&extras, aux_at, if name.is_empty() { 0 } else { 64 })
    }

    pub(crate) fn with_header(&self, extras: &[u8], aux_at: u32, name_at: u32) -> Vec<u8> {
        let payload = padded(self.payload);
        let compressed = if self.unpacked > 0 {
            self.payload.len()
        } else {
            0
        };
        let mut out = Vec::new();
        out.extend(self.kind.to_le_bytes());
        out.extend(0x0101_u16.to_le_bytes());
        out.extend((64 + extras.len() as u32).to_le_bytes());
        out.extend((payload.len() as u64).to_le_bytes());
        out.extend((compressed as u32).to_le_bytes());
        out.extend(aux_at.to_le_bytes());
        out.extend(5_u16.to_le_bytes());
        out.extend(9_u16.to_le_bytes());
        out.extend(self.arch.to_le_bytes());
        out.extend(name_at.to_le_bytes());
        out.extend((self.name.len() as u32).to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        out.extend(0_u64.to_le_bytes());
        out.extend(self.unpacked.to_le_bytes());
        out.extend(extras);
        out.extend(payload);
        out
    }
}

pub(crate) fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut out = b"\x50\xed\x55\xba\x01\x00\x10\x00".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    out.extend(entries);
    out
}

/// An executable cubin of ABI 8 with nothing in it but its section names.
pub(crate) fn cubin(number: u8) -> Vec<u8> {
    let names = b"\0.shstrtab\0\0\0\0\0\0";
    let mut out = vec![0; 64];
    out[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
    out[16] = 2;
    out[18] = 190;
    out[20] = 1;
    out[40] = 64 + names.len() as u8;
    out[48..52].copy_from_slice(&[4, number, 0, 6]);
    out[52] = 64;
    out[54] = 56;
    out[58] = 64;
    out[60] = 2;
    out[62] = 1;
    out.extend(names);
    out.extend([0; 64]);
    let mut header = [0; 64];
    header[0] = 1;
    header[4] = 3;
    header[24] = 64;
    header[32] = names.len() as u8;
    header[48] = 1;
    out.extend(header);
    out
}

pub(crate) const PTX: &str = "//\n.version 9.5\n.target sm_90a\n.address_size 64\n\n.visible .entry k(\n\t\
    .param .u64 k_param_0\n)\n.maxntid 128, 1, 1\n{\n\tret;\n\n}\n";

pub(crate) fn lto_ir(number: u16) -> Vec<u8> {
    let mut out = b"\xed\x43\x4e\x7f\x01\x43\x02\x83\x03\x02\x07\x00\x18\x00\x01\x00".to_vec();
    out.extend([0x28, 0, 0, 0, 0x2c, 0, 0, 0]);
    for (tag, value) in [(1, number * 10), (2, 2), (99, 0), (0, 0)] {
        out.extend(u16::to_le_bytes(tag));
        out.extend(u16::to_le_bytes(value));
    }
    out.extend(b"scrambled body");
    out
}

/// A DLL with the sections given by name and content, all of them data.
pub(crate) fn dll(sections: &[(&[u8], &[u8])]) -> Vec<u8> {
    use object::pe;
    use object::write::pe::{NtHeaders, Writer};
    let mut out = Vec::new();
    let mut writer = Writer::new(true, 0x1000, 0x200, &mut out);
    writer.reserve_dos_header_and_stub();
    writer.reserve_nt_headers(0);
    writer.reserve_section_headers(sections.len() as u16);
    let ranges: Vec<_> = sections
        .iter()
        .map(|(name, bytes)| {
            let mut field = [0; 8];
            field[..name.len()].copy_from_slice(name);
            let size = bytes.len() as u32;
            let flags = pe::IMAGE_SCN_CNT_INITIALIZED_DATA | pe::IMAGE_SCN_MEM_READ;
            writer.reserve_section(field, flags, size, size)
        })
        .collect();
    writer.write_dos_header_and_stub().unwrap();
    writer.write_nt_headers(NtHeaders {
        machine: pe::IMAGE_FILE_MACHINE_AMD64,
        time_date_stamp: 0,
        characteristics: pe::IMAGE_FILE_EXECUTABLE_IMAGE | pe::IMAGE_FILE_DLL,
        major_linker_version: 0,
        minor_linker_version: 0,
        address_of_entry_point: 0,
        image_base: 0x1_8000_0000,
        major_operating_system_version: 0,
        minor_operating_system_version: 0,
        major_image_version: 0,
        minor_image_version: 0,
        major_subsystem_version: 0,
        minor_subsystem_version: 0,
        subsystem: pe::IMAGE_SUBSYSTEM_WINDOWS_CUI,
        dll_characteristics: pe::DllFlags(0),
        size_of_stack_reserve: 0,
        size_of_stack_commit: 0,
        size_of_heap_reserve: 0,
        size_of_heap_commit: 0,
    });
    writer.write_section_headers();
    for (range, (_, bytes)) in ranges.iter().zip(sections) {
        writer.write_section(range.file_offset, bytes);
    }
    out
}
