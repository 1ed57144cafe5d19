/// The rows of a batch insert.
@usableFromInline struct BatchRows {
  /// The key paths that rows have values for; nil where each row says so itself.
  let keyPaths: [[String]]?
  /// Begins anew with the first row, and gives what writes the values of the next one: false where there is none.
  let start: () -> (BatchRowWriter) throws -> Bool

  @usableFromInline init(
    keyPaths: [[String]]?, start: @escaping () -> (BatchRowWriter) throws -> Bool
  ) {
    self.keyPaths = keyPaths
    self.start = start
  }

  /// Dictionaries, each of which names what it has.
  init<Rows: Sequence>(dictionaries rows: Rows) where Rows.Element == [String: FetchedValue] {
    self.init(keyPaths: nil) {
      var iterator = rows.makeIterator()
      return { row in
        guard let values = iterator.next() else { return false }
        try Self.write(values, to: row)
        return true
      }
    }
  }

  private static func write(_ values: [String: FetchedValue], to row: BatchRowWriter) throws {
    row.start()
    var found = 0
    for property in row.properties {
      if let value = values[property.name] {
        found += 1
        try row.write(value)
      } else {
        try row.writeDefault()
      }
    }
    if found < values.count {
      let names = Set(row.properties.map(\.name))
      throw row.unusableKey(values.keys.sorted().first { !names.contains($0) } ?? "")
    }
  }
}
