/// How large a file may be. Beyond a limit a file is refused with a diagnostic, so that no input, made by
/// accident or on purpose, can exhaust memory or the stack.
enum YAMLLimits {
  /// Bytes in a file. The largest models known take a hundredth of it.
  static let fileSize = 8 * 1024 * 1024
  /// Mappings and lists within one another. The language itself needs eight.
  static let depth = 64
  /// Scalars, mappings and lists in a file.
  static let nodes = 1_000_000
}
