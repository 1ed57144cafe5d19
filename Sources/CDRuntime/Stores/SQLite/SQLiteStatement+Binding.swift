import CDModel
import CSQLite

extension SQLiteStatement {
  /// Binds what ``SQLPredicate/bindings`` holds, from a parameter's number on.
  func bind(_ values: [AttributeValue], from first: Int32 = 1) {
    for (place, value) in values.enumerated() {
      let parameter = first + Int32(clamping: place)
      switch value {
      case .int(let number): bind(number, at: parameter)
      case .string(let text): bind(text, at: parameter)
      case .double(let number): sqlite3_bind_double(handle, parameter, number)
      case .data(let data):
        let bytes = Array(data)
        // Without a byte there is no address, and SQLite would take that for NULL.
        if bytes.isEmpty {
          sqlite3_bind_zeroblob(handle, parameter, 0)
        } else {
          sqlite3_bind_blob(handle, parameter, bytes, Int32(clamping: bytes.count), SQLite.copied)
        }
      case .null, .bool, .decimal, .date, .uuid, .url, .composite: sqlite3_bind_null(handle, parameter)
      }
    }
  }
}
