/// Limits for the size of a file. A file beyond a limit is refused with a diagnostic, so that no input can exhaust
/// memory or the stack.
enum YAMLLimits {
  /// The maximum number of bytes. The largest known models need a hundredth of it.
  static let fileSize = 8 * 1024 * 1024
  /// The maximum nesting of mappings and lists. The schema language needs eight levels.
  static let depth = 64
  /// The maximum number of scalars, mappings and lists.
  static let nodes = 1_000_000
}
