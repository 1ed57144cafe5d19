import Foundation
import Synchronization
import Testing

/// The public symbols of a module with their doc comments, as DocC reads them.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Kind: Decodable { let identifier: String }
    struct Identifier: Decodable { let precise: String }
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let lines: [Line]
    }
    struct Location: Decodable {
      struct Position: Decodable { let line: Int }
      let uri: String
      let position: Position
    }

    let kind: Kind
    let identifier: Identifier
    let pathComponents: [String]
    let docComment: Comment?
    let location: Location?

    var path: String { pathComponents.joined(separator: ".") }
    var comment: String { docComment?.lines.map(\.text).joined(separator: "\n") ?? "" }
    var hasExample: Bool { comment.contains("```swift\n") }

    var isType: Bool {
      ["class", "struct", "enum", "protocol", "typealias", "actor"].contains {
        "swift.\($0)" == kind.identifier
      }
    }

    /// Whether the compiler has added the symbol to a type: it has no place where a comment could be written.
    var isSynthesized: Bool { identifier.precise.contains("::SYNTHESIZED::") || location == nil }

    /// Where the symbol is declared, for messages.
    var place: String {
      guard let location else { return path }
      let file = location.uri.replacing("file://", with: "").replacing(CodeBlock.root.path + "/", with: "")
      return "\(file):\(location.position.line + 1): \(path)"
    }
  }

  let symbols: [Symbol]

  /// The graphs that the compiler makes of a built module: its own, and those of other modules' types that it extends.
  /// They are made once.
  init(of module: String) throws {
    symbols = try Self.made.withLock { made in
      if let known = made[module] { return known }
      let symbols = try Self.extracted(module)
      made[module] = symbols
      return symbols
    }
  }

  private static let made = Mutex<[String: [Symbol]]>([:])

  /// The symbols of the compiler's files of a module.
  private static func extracted(_ module: String) throws -> [Symbol] {
    var symbols: [Symbol] = []
    try SourceFolder.with { folder in
      let outcome = try SwiftCompiler().extractSymbols(of: module, to: folder.url)
      try #require(outcome.isSuccess, "\(outcome.messages)")
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() {
        let data = try Data(contentsOf: folder.url.appending(path: name))
        symbols += try JSONDecoder().decode(SymbolGraph.self, from: data).symbols
      }
    }
    return symbols
  }
}
