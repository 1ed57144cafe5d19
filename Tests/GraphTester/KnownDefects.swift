/// Defects of the runtime that are known and wait for their fix. Programs and schemas leave out what meets them, so
/// that a run can find others. Each is a switch, which goes when the fix has landed.
struct KnownDefects: Sendable {
  static let current = KnownDefects()

  /// Leaves out of a plan what meets a known defect.
  func restrict(_ plan: inout Plan) {
  }
}
