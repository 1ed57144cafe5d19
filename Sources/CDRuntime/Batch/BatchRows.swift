/// The rows of a batch insert, one after another.
protocol BatchRows {
  /// The key paths that rows have values for; nil where each row says so itself.
  var keyPaths: [[String]]? { get }
  /// Gives the values of the next row; false where there is none.
  mutating func next(_ row: inout BatchRowWriter) throws -> Bool
}

/// Elements of a sequence, with a closure for each column.
struct ElementRows<Rows: Sequence, Object: ManagedObject>: BatchRows {
  private var iterator: Rows.Iterator
  private let columns: [BatchColumn<Object, Rows.Element>]

  init(_ rows: Rows, _ columns: [BatchColumn<Object, Rows.Element>]) {
    iterator = rows.makeIterator()
    self.columns = columns
  }

  var keyPaths: [[String]]? { columns.map(\.keys) }

  mutating func next(_ row: inout BatchRowWriter) throws -> Bool {
    guard let element = iterator.next() else { return false }
    row.start()
    for column in columns { try row.write(column.value(element)) }
    return true
  }
}

/// Dictionaries, each of which names what it has.
struct DictionaryRows<Rows: Sequence>: BatchRows where Rows.Element == [String: FetchedValue] {
  private var iterator: Rows.Iterator

  init(_ rows: Rows) { iterator = rows.makeIterator() }

  var keyPaths: [[String]]? { nil }

  mutating func next(_ row: inout BatchRowWriter) throws -> Bool {
    guard let values = iterator.next() else { return false }
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
    return true
  }
}
