import Foundation

/// A link from an article, a tutorial or another Markdown file to a file of the checkout, perhaps to a heading in it.
///
/// Articles link each other as files, so that the links work on a code host. `.ci/site` converts the links to DocC's own.
struct ArticleLink {
  /// The linking file's path within the checkout.
  let path: String
  let line: Int
  let text: String
  /// The target as it is written, without the heading; empty for a heading of the same file.
  let target: String
  /// The heading as a code host names it; empty if there is none.
  let anchor: String

  /// Where the link is, for messages.
  var place: String { "\(path):\(line)" }

  /// The file that the link leads to.
  var file: URL {
    let linking = CodeBlock.root.appending(path: path)
    if target.isEmpty { return linking }
    return linking.deletingLastPathComponent().appending(path: target).standardizedFileURL
  }

  /// Whether the file has the heading.
  func hasHeading() throws -> Bool {
    if anchor.isEmpty { return true }
    return try Self.prose(of: file).split(separator: "\n").contains { line in
      line.hasPrefix("#") && Self.slug(line.drop { $0 == "#" }) == anchor
    }
  }

  /// A code host's name of a heading.
  private static func slug(_ heading: Substring) -> String {
    let text = heading.trimmingCharacters(in: .whitespaces).lowercased()
    return text.replacing(#/[^\w\- ]/#, with: "").replacing(" ", with: "-")
  }

  /// The text of a file with blank lines in place of its blocks of code.
  private static func prose(of file: URL) throws -> String {
    try String(contentsOf: file, encoding: .utf8).replacing(#/(?ms)^```.*?^```/#) { block in
      String(block.output.filter { $0 == "\n" })
    }
  }

  /// The files that people read.
  static func paths() throws -> [String] {
    let folders = ["Sources", "Documentation"].flatMap { folder -> [String] in
      let names = FileManager.default.enumerator(atPath: CodeBlock.root.appending(path: folder).path)
      return (names?.allObjects ?? []).compactMap { $0 as? String }.map { "\(folder)/\($0)" }
    }
    return (["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] + folders.sorted())
      .filter { $0.hasSuffix(".md") || $0.hasSuffix(".tutorial") }
  }

  /// The links of a file to files.
  static func all(in path: String) throws -> [ArticleLink] {
    let text = try prose(of: CodeBlock.root.appending(path: path)).replacing(#/`[^`\n]+`/#, with: "code")
    return text.matches(of: pattern).map { match in
      ArticleLink(
        path: path, line: text[..<match.range.lowerBound].count { $0 == "\n" } + 1, text: String(match.1),
        target: String(match.2), anchor: String(match.3 ?? ""))
    }
  }

  /// `[text](path#heading)`, without the links to other sites.
  private static var pattern: Regex<(Substring, Substring, Substring, Substring?)> {
    #/\[([^\]\[]+)\]\(([^()#:\s]*)(?:#([^()\s]*))?\)/#
  }
}
