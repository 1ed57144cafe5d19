import CSQLite

/// How many steps a statement may take, by the size of the file.
///
/// The pages of a table form a tree. In a file that somebody has prepared a page can be the child of many, so that some
/// few pages have more rows than anybody can read; SQLite looks for that in a check of the whole file alone. No row
/// takes less than some bytes, and so no statement here takes more than some steps for each byte and each value that it
/// asks for: a column that was added later takes no byte of a row.
final class StepBudget {
  private static let interval = 10_000
  /// Many times what is needed.
  private static let stepsPerByte: Int64 = 20

  private let bytes: Int64
  private var limit: Int64 = 1_000_000
  private var spent: Int64 = 0

  init(bytes: Int64) { self.bytes = min(max(bytes, 0), 1 << 40) }

  /// Has SQLite end what takes more. The connection must be left before this object goes.
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

  /// Another statement begins, which asks for some values of each row.
  func renew(values: Int) {
    spent = 0
    limit = 1_000_000 + bytes * Self.stepsPerByte * Int64(min(max(values, 8), 10_000))
  }

  private func spend() -> Bool {
    spent += Int64(Self.interval)
    return spent <= limit
  }
}
