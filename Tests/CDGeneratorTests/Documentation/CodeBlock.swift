import Foundation

/// A fenced block of code in a doc comment or an article.
struct CodeBlock {
  /// The file's path within the checkout.
  let path: String
  /// The line of the fence; the code begins on the next one.
  let line: Int
  /// What the fence says of the language; empty where it says nothing.
  let language: String
  /// The code, each character in its column of the file, so that the compiler's places are the file's.
  var lines: [String] = []
  /// Whether there is a second fence.
  var isClosed = false

  /// Where the block is, for messages.
  var place: String { "\(path):\(line)" }

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The blocks of the README and of all articles, and those of the doc comments of the modules that an app has by one
  /// import, that its tests have, or that read the stores it had before.
  static func all() throws -> [CodeBlock] { try found.get() }

  private static let found: Result<[CodeBlock], any Error> = Result {
    let modules = try ["Sources/CDRuntime", "Sources/CDModel", testing, coreData].flatMap(paths)
    let articles = try catalogues.flatMap(paths)
    return try (["README.md"] + modules + articles).flatMap { path -> [CodeBlock] in
      let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      return blocks(in: path.hasSuffix(".md") ? lines.map(String.init) : lines.map(comment), of: path)
    }
  }

  private static let testing = "Sources/CDMigrationTesting"
  private static let coreData = "Sources/CDCoreDataStore"

  /// The articles of the other modules. Their doc comments are for the authors of tools.
  private static let catalogues =
    ["CDGenerator", "CDMapping", "CDPostgresStore", "CDSchema", "CDSwiftLog", "CDValues"]
    .map { "Sources/\($0)/\($0).docc" } + ["Documentation/cdgen.docc"]

  /// Modules that the compiler of the tests does not have: one needs the headers of libpq, the other one a trait.
  private static let absentModules = ["Sources/CDPostgresStore/", "Sources/CDSwiftLog/"]

  private static func paths(under folder: String) throws -> [String] {
    let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.allObjects ?? []
    return names.compactMap { $0 as? String }
      .filter { $0.hasSuffix(".swift") || $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
  }

  /// A doc comment's line without its marks; empty for any other line.
  private static func comment(_ line: Substring) -> String {
    let marked = line.drop { $0 == " " }
    guard marked.hasPrefix("///") else { return "" }
    return String(repeating: " ", count: line.count - marked.count + 3) + marked.dropFirst(3)
  }

  private static func blocks(in lines: [String], of path: String) -> [CodeBlock] {
    var blocks: [CodeBlock] = []
    var open: CodeBlock?
    for (place, line) in lines.enumerated() {
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.hasPrefix("```") {
        if var block = open.take() {
          block.isClosed = true
          blocks.append(block)
        } else {
          open = CodeBlock(path: path, line: place + 1, language: String(text.dropFirst(3)))
        }
      } else {
        open?.lines.append(line)
      }
    }
    return blocks + [open].compactMap { $0 }
  }
}

extension CodeBlock {
  /// Whether the block is the program that `cdgen init` writes. A program has statements outside of functions, so it is
  /// not compiled with the other blocks. `.ci/readme` builds it and runs it. The site's first page shows a program of the
  /// same model.
  var isFirstProgram: Bool { lines.contains { $0.contains("NotesModel.self") } }

  /// Whether the tests have the modules that the code uses.
  var hasModules: Bool { !Self.absentModules.contains { path.hasPrefix($0) } }

  /// Whether the code is a package's manifest, which has a module of its own to compile against.
  var isManifest: Bool { lines.first?.hasPrefix("// swift-tools-version") ?? false }

  /// Whether the code stands at a file's top level: it begins with a declaration that no function can hold,
  /// or that others are to use.
  var isTopLevel: Bool {
    firstCode.map { Self.declarations.contains($0.prefix { !" (:".contains($0) }) } ?? false
  }

  /// What such code begins with.
  private static let declarations: Set<Substring> = [
    "import", "public", "internal", "private", "final", "nonisolated", "@main", "@MainActor", "extension",
    "protocol", "struct", "class", "enum", "actor",
  ]

  private var firstCode: Substring? {
    lines.lazy.map { $0.drop { $0 == " " } }.first { !$0.isEmpty && !$0.hasPrefix("//") }
  }

  /// The code as a file: as it is, or as the body of a function that knows the names of ``ExamplePrelude``.
  ///
  /// All blocks are one module, which has at most one entry point. Blanks replace the mark, so that the columns stay.
  var source: String {
    let imports =
      firstCode?.hasPrefix("import") == true ? "" : "import CDRuntime\nimport Foundation\n" + testingImport
    let path = Self.root.appending(path: path).path
    let code = """
      #sourceLocation(file: "\(path)", line: \(line + 1))
      \(lines.joined(separator: "\n").replacing("@main ", with: "      "))
      #sourceLocation()
      """
    if isTopLevel { return imports + code }
    return imports + "extension Examples {\nfunc \(name)() async throws {\n\(code)\n}\n}\n"
  }

  private var testingImport: String {
    let modules = ["CDMigrationTesting", "CDCoreDataStore", "CDGenerator", "CDSchema"]
    return modules.first { path.hasPrefix("Sources/\($0)/") }.map { "import \($0)\n" } ?? ""
  }

  /// A name of the block's own, for its function or its file.
  var name: String {
    let file = URL(filePath: path).lastPathComponent
    return "example_\(file.replacing(#/[^A-Za-z0-9]/#, with: "_"))_\(line)"
  }
}
