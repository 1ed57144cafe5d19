extension SourceText {
  /// Decodes a file's bytes. Returns nil and reports the reason if they are not text that YAML allows.
  init?(path: String, bytes: [UInt8], diagnostics: DiagnosticCollector) {
    let start = SourceLocation(path: path, line: 1, column: 1)
    guard bytes.count <= YAMLLimits.fileSize else {
      diagnostics.error(
        start,
        "the file has \(bytes.count) bytes; a model's file may have \(YAMLLimits.fileSize) at most")
      return nil
    }
    if let mark = Self.byteOrderMark(bytes) {
      diagnostics.error(start, mark)
      return nil
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      diagnostics.error(
        Self.invalidPlace(path: path, bytes: bytes), "not UTF-8 from here on; save the file as UTF-8")
      return nil
    }
    self.init(path: path, text: text)
    var isAllowed = true
    for (offset, scalar) in scalars.enumerated() where !Self.isAllowed(scalar) {
      diagnostics.error(
        location(at: offset),
        "the character \(Self.codePoint(scalar)) is not allowed; in a double-quoted text write it as an escape"
      )
      isAllowed = false
      // A file with one such character often consists of them, so only the first is reported.
      break
    }
    if !isAllowed { return nil }
  }

  private static func byteOrderMark(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      return "the file starts with a byte order mark; save it as UTF-8 without one"
    }
    if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) {
      return "the file is in UTF-32; save it as UTF-8"
    }
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      return "the file is in UTF-16; save it as UTF-8"
    }
    // UTF-16 without a byte order mark: every second byte of ASCII text is zero.
    if bytes.count >= 4, bytes.count.isMultiple(of: 2) {
      if bytes[1] == 0 && bytes[3] == 0 && bytes[0] != 0 || bytes[0] == 0 && bytes[2] == 0 && bytes[1] != 0 {
        return "the file is in UTF-16; save it as UTF-8"
      }
    }
    return nil
  }

  private static func invalidPlace(path: String, bytes: [UInt8]) -> SourceLocation {
    var valid: [Unicode.Scalar] = []
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while case .scalarValue(let scalar) = decoder.decode(&iterator) { valid.append(scalar) }
    let prefix = SourceText(path: path, scalars: valid)
    return prefix.location(at: valid.count)
  }

  /// Whether YAML allows a character in a file. YAML also allows a byte order mark inside a file; it is refused here,
  /// because it is invisible.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85: true
    case 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: true
    default: false
    }
  }

  private static func codePoint(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
