package import CDModel

/// The results of a check in the Static Analysis Results Interchange Format, version 2.1.0, which code review tools show
/// at their lines.
package struct SARIFLog {
  /// How serious a result is.
  package enum Level: String {
    case error, warning, note
  }

  /// A kind of results.
  package struct Rule {
    package let id: String
    package let description: String

    package init(id: String, description: String) {
      self.id = id
      self.description = description
    }
  }

  private struct Result {
    let rule: String
    let level: Level
    let message: String
    let path: String
    let position: (line: Int, column: Int)?
  }

  private let tool: String
  private let rules: [Rule]
  private var results: [Result] = []

  /// - Parameter tool: The name of the program.
  package init(tool: String, rules: [Rule]) {
    self.tool = tool
    self.rules = rules
  }

  /// Adds a result.
  ///
  /// - Parameters:
  ///   - rule: The identifier of one of the rules.
  ///   - path: The file, as the user named it.
  ///   - position: The line and the column, which counts Unicode scalars, both from 1; nil for the whole file.
  package mutating func add(
    _ rule: String, _ level: Level, _ message: String, path: String,
    at position: (line: Int, column: Int)? = nil
  ) {
    results.append(Result(rule: rule, level: level, message: message, path: path, position: position))
  }

  /// The log as JSON.
  package var json: JSONValue {
    .object([
      .init("$schema", .string("https://json.schemastore.org/sarif-2.1.0.json")),
      .init("version", .string("2.1.0")),
      .init(
        "runs",
        .array([
          .object([
            .init("tool", .object([.init("driver", driver)])),
            .init("columnKind", .string("unicodeCodePoints")),
            .init("results", .array(results.map(json))),
          ])
        ])),
    ])
  }

  private var driver: JSONValue {
    .object([
      .init("name", .string(tool)),
      .init("version", .string(Release.version)),
      .init(
        "rules",
        .array(
          rules.map { rule in
            .object([
              .init("id", .string(rule.id)),
              .init("shortDescription", .object([.init("text", .string(rule.description))])),
            ])
          })),
    ])
  }

  private func json(_ result: Result) -> JSONValue {
    var location = [
      JSONValue.Member("artifactLocation", .object([.init("uri", .string(Self.uri(result.path)))]))
    ]
    if let (line, column) = result.position {
      location.append(
        .init(
          "region",
          .object([.init("startLine", .int(Int64(line))), .init("startColumn", .int(Int64(column)))])))
    }
    return .object([
      .init("ruleId", .string(result.rule)),
      .init("level", .string(result.level.rawValue)),
      .init("message", .object([.init("text", .string(result.message))])),
      .init("locations", .array([.object([.init("physicalLocation", .object(location))])])),
    ])
  }

  /// The path as a reference to a URI. A relative path stays relative, so that review tools find it in the repository.
  private static func uri(_ path: String) -> String {
    var text = path.hasPrefix("/") ? "file://" : ""
    for byte in path.utf8 {
      let isPlain =
        byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte >= 0x30 && byte <= 0x39
        || "-._~/".utf8.contains(byte)
      if isPlain {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        text += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
      }
    }
    return text
  }
}
