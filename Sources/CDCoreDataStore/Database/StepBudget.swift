import CSQLite

/// A limit for the number of SQLite's instructions that a statement may run, by the size of the file.
///
/// The pages of a table form a tree. In a malicious file, one page can be the child of many pages, so that a few pages
/// have more rows than anyone can read. SQLite detects this only in a check of the whole file. Each row takes at least
/// some bytes. Therefore a statement needs at most some instructions for each byte and each value that it reads. The
/// values count separately, because a column that was added later takes no byte in a row.
final class StepBudget {
  private static let interval = 10_000
  /// Many times the number that is needed.
  private static let stepsPerByte: Int64 = 20

  private let bytes: Int64
  private var limit: Int64 = 1_000_000
  private var spent: Int64 = 0

  init(bytes: Int64) { self.bytes = min(max(bytes, 0), 1 << 40) }

  /// Makes SQLite interrupt a statement that exceeds the limit. Call ``leave(_:)`` before this object is released.
  func watch(_ handle: OpaquePointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(
      handle, Int32(Self.interval),
      { context in
        guard let context else { return 0 }
        return Unmanaged<StepBudget>.fromOpaque(context).takeUnretainedValue().spend() ? 0 : 1
      }, context)
  }

  func leave(_ handle: OpaquePointer) { sqlite3_progress_handler(handle, 0, nil, nil) }

  /// Starts the count for another statement, which reads a number of values from each row.
  func renew(values: Int) {
    spent = 0
    limit = 1_000_000 + bytes * Self.stepsPerByte * Int64(min(max(values, 8), 10_000))
  }

  private func spend() -> Bool {
    spent += Int64(Self.interval)
    return spent <= limit
  }
}
