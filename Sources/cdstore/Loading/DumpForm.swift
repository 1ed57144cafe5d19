import CDConsole
import CDModel
import CDRuntime
import Foundation

/// The first and the last line of a dump. Between them, each line is an object.
///
/// The first line has what a new store needs to be the dumped one: its metadata with its model, and the next number of
/// each entity's hierarchy. The last line has the number of objects, so that a dump that was cut off is noticed.
enum DumpForm {
  static let header = "@store"
  static let trailer = "@end"
  static let formatVersion: Int64 = 1

  static func header(_ beginning: StoreBeginning) -> JSONValue {
    func sorted<Value>(_ values: [String: Value], _ json: (Value) -> JSONValue) -> JSONValue {
      .object(values.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, json($0.value)) })
    }
    return .object([
      JSONValue.Member(
        header,
        .object([
          JSONValue.Member("format", .int(formatVersion)),
          JSONValue.Member("next", sorted(beginning.nextKeys) { .int($0) }),
          JSONValue.Member("metadata", sorted(beginning.metadata) { .string($0) }),
        ]))
    ])
  }

  static func trailer(count: Int) -> JSONValue {
    .object([
      JSONValue.Member(trailer, .object([JSONValue.Member("objects", .int(Int64(count)))]))
    ])
  }

  /// Reads the first line; nil for any other object.
  ///
  /// - Throws: ``Failure`` if the line cannot be read, or if a newer release wrote it.
  static func beginning(_ json: JSONValue) throws -> StoreBeginning? {
    guard let store = json[header] else { return nil }
    guard case .int(let format)? = store["format"], case .object(let next)? = store["next"],
      case .object(let metadata)? = store["metadata"]
    else { throw Failure("line 1: the description of the store is not complete") }
    guard format <= formatVersion else {
      throw Failure("line 1: a newer release of cdgen wrote this dump; load it with that release")
    }
    var beginning = StoreBeginning(metadata: [:], nextKeys: [:])
    for member in next { if case .int(let key) = member.value { beginning.nextKeys[member.key] = key } }
    for member in metadata {
      if case .string(let text) = member.value { beginning.metadata[member.key] = text }
    }
    return beginning
  }
}

/// Makes an empty store of the beginning of a dump.
struct DumpBeginning: StoreFormat {
  let name = "dump"
  let beginning: StoreBeginning

  var isReadOnly: Bool { true }

  func recognizes(_ start: [UInt8]) -> Bool { true }

  func write(_ contents: StoreContents, to output: StoreOutput) throws {}

  func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    // The rows and the next keys follow in the import.
    _ = try builder.begin(metadata: beginning.metadata)
  }
}
