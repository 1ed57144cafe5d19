import CDRuntime
import Foundation

/// A format of an app's own, as a user would write it: one JSON document.
struct JSONStoreFormat: StoreFormat {
  let name = "json"

  private struct Document: Codable {
    var format = "cdgen-test-1"
    var metadata: [String: String] = [:]
    var tables: [Table] = []
  }

  private struct Table: Codable {
    var kind: String
    var name: String
    var columns: [String]
    var rows: [[Value]] = []
  }

  private enum Value: Codable {
    case null
    case integer(Int64)
    case real(String)
    case text(String)
    case bytes(Data)

    init(_ value: StoreValue) {
      switch value {
      case .null: self = .null
      case .integer(let number): self = .integer(number)
      // JSON has no infinity.
      case .real(let number): self = .real("\(number)")
      case .text(let text): self = .text(text)
      case .bytes(let data): self = .bytes(data)
      }
    }

    func value() throws -> StoreValue {
      switch self {
      case .null: return .null
      case .integer(let number): return .integer(number)
      case .real(let text):
        guard let number = Double(text) else { throw StoreFormatError(.syntax("'\(text)' is not a number")) }
        return .real(number)
      case .text(let text): return .text(text)
      case .bytes(let data): return .bytes(data)
      }
    }
  }

  func recognizes(_ start: [UInt8]) -> Bool {
    String(decoding: start, as: UTF8.self).hasPrefix(#"{"format":"cdgen-test-"#)
  }

  func write(_ contents: StoreContents, to output: StoreOutput) throws {
    var document = Document(metadata: contents.metadata)
    for table in contents.tables {
      var written = Table(kind: table.kind.rawValue, name: table.name, columns: table.columns.map(\.name))
      try contents.forEachRow(of: table) { written.rows.append($0.map(Value.init)) }
      document.tables.append(written)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try output.write(encoder.encode(document))
  }

  func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: input.readAll())
    } catch is DecodingError { throw StoreFormatError(.syntax("no document of this format")) }
    let tables = try builder.begin(metadata: document.metadata)
    for read in document.tables {
      guard let table = tables.first(where: { $0.kind.rawValue == read.kind && $0.name == read.name }) else {
        throw StoreFormatError(.unknownEntity(read.name))
      }
      let places = try read.columns.map { name in
        guard let place = table.columns.firstIndex(where: { $0.name == name }) else {
          throw StoreFormatError(.unknownProperty(entity: read.name, property: name))
        }
        return place
      }
      for values in read.rows {
        var row = [StoreValue](repeating: .null, count: table.columns.count)
        for (place, value) in zip(places, values) { row[place] = try value.value() }
        try builder.add(row, to: table)
      }
    }
  }
}
