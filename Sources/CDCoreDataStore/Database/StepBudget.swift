import CSQLite

/// How many steps a statement may take, by the size of the file.
///
/// The pages of a table form a tree. In a file that somebody has prepared a page can be the child of many, so that some
/// few pages have more rows than anybody can read; SQLite looks for that in a check of the whole file alone. No row
/// takes less than some bytes, and so no statement here takes more than some steps for each byte.
final class StepBudget {
  private static let interval = 10_000
  /// What a table with hundreds of columns needs, most of them not in its rows, many times over.
  private static let stepsPerByte: Int64 = 200

  private let limit: Int64
  private var spent: Int64 = 0

  init(bytes: Int64) {
    limit = 1_000_000 + min(max(bytes, 0), 1 << 50) * Self.stepsPerByte
  }

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

  /// Another statement begins.
  func renew() { spent = 0 }

  private func spend() -> Bool {
    spent += Int64(Self.interval)
    return spent <= limit
  }
}
