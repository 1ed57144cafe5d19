import CSQLite

/// The SQL function `cdgen_rows`, through which SQLite hands over the rows of a statement while it runs the statement.
///
/// For `SELECT cdgen_rows(t0._pk, …) FROM …`, SQLite calls the function with the values of each row. That takes a third
/// less time than to return from the statement with each row and to ask for each value. The function is an aggregate, so
/// SQLite calls it for exactly the rows that satisfy the condition. Their order is undefined: aggregates have none.
final class RowFeed {
  /// The values of the current row, in SQLite's memory.
  struct Row {
    fileprivate var values: UnsafeMutablePointer<OpaquePointer?>?
    fileprivate var count: Int32 = 0

    /// The value at an index; nil if the row has none.
    @inline(__always) subscript(index: Int32) -> OpaquePointer? {
      guard let values, index >= 0, index < count else { return nil }
      return values[Int(index)]
    }
  }

  private static let name = "cdgen_rows"

  /// The current row. It has no values after the statement has ended. Readers hold its address, because the rows of one
  /// statement need not be at one address.
  let row: UnsafeMutablePointer<Row>
  private let handle: OpaquePointer
  private var body: (() throws -> Void)?
  private var failure: (any Error)?

  /// Adds the function to a connection, which keeps the new object until it is closed.
  init(_ connection: OpaquePointer) {
    handle = connection
    row = UnsafeMutablePointer<Row>.allocate(capacity: 1)
    row.initialize(to: Row())
    // A file's own schema cannot call the function.
    sqlite3_create_function_v2(
      connection, Self.name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, Unmanaged.passRetained(self).toOpaque(),
      nil,
      { context, count, values in
        guard let feed = sqlite3_user_data(context) else { return }
        Unmanaged<RowFeed>.fromOpaque(feed)._withUnsafeGuaranteedRef { $0.take(values, count, context) }
      }, { context in sqlite3_result_null(context) },
      { feed in
        if let feed { Unmanaged<RowFeed>.fromOpaque(feed).release() }
      })
  }

  deinit { row.deallocate() }

  /// Returns the SELECT that passes columns to the function; nil if they are too many for a function.
  func select(_ select: EntitySelect) -> String? {
    guard select.columnCount <= sqlite3_limit(handle, SQLITE_LIMIT_FUNCTION_ARG, -1) else { return nil }
    return "SELECT \(Self.name)(\(select.columns)) \(select.source)"
  }

  /// Runs a statement, and calls a body for each row. If the body throws, the statement ends.
  @_optimize(speed)
  func run(_ statement: SQLiteStatement, _ body: () throws -> Void) throws {
    try withoutActuallyEscaping(body) { body in
      // The body may run a statement of the same kind.
      let outer = (self.body, failure, row.pointee)
      self.body = body
      failure = nil
      defer { (self.body, failure, row.pointee) = outer }
      do {
        while try statement.step() {}
      } catch {
        throw failure ?? error
      }
    }
  }

  @inline(__always)
  private func take(
    _ values: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int32, _ context: OpaquePointer?
  ) {
    guard let body, failure == nil else { return }
    row.pointee = Row(values: values, count: count)
    do {
      try body()
    } catch {
      failure = error
      sqlite3_result_error_code(context, SQLITE_ABORT)
    }
  }
}
