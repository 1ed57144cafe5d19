import CDModel
import Foundation

/// Any text must be parsed or refused. The canonical text of a parsed predicate must give the same tree, and checking
/// the predicate must not trap.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFormat(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(
    decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
  guard let predicate = try? FetchPredicate(format: text, arguments: arguments) else { return 0 }
  let canonical = predicate.canonicalText
  // The depth limit counts written parentheses, and the canonical text may have more of them.
  if let again = try? FetchPredicate(format: canonical), again != predicate {
    fatalError("\(canonical) reads back as \(again.canonicalText)")
  }
  let checked = ExpressionChecker(graph: graph).check(predicate, on: "Book")
  for diagnostic in checked.diagnostics { _ = diagnostic.description }
  _ = checked.predicate.canonicalText
  _ = predicate.substituting(["x": 1])
  return 0
}

private let arguments: [(any FormatArgument)?] = ["title", 3, nil, 2.5, [1, 2, 3], "pages", Date(), true]

private let graph = EntityGraph(
  ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Book",
        attributes: [
          AttributeDescription(name: "title", type: .string),
          AttributeDescription(name: "pages", type: .int64, isOptional: true),
          AttributeDescription(name: "price", type: .decimal, isOptional: true),
        ],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "book"),
          RelationshipDescription(name: "book", destination: "Book", inverse: "books"),
        ])
    ]))
