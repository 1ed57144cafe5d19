import CDConsole
import CDModel
import CDRuntime
import Foundation

/// The result of `cdstore migrate`, as text and as JSON.
struct MigrationOutcome {
  let store: String
  let source: Int
  let destination: Int
  /// Nil if the store already had the version.
  let result: MigrationResult?
  let hasNewIndexes: Bool
  let objects: Int
  let keepsBackup: Bool
  /// Nil if the store was not checked.
  let findings: [String]?

  var text: String {
    var lines: [String] = []
    if let result {
      lines.append("\(store): version \(source) to version \(destination)")
      lines.append(
        "  steps    " + result.steps.map { "\($0.source) → \($0.destination)" }.joined(separator: ", "))
      lines.append("  objects  \(objects)")
      lines.append("  time     \(Quantity.time(result.duration))")
      lines.append("  made     " + Self.way(result))
      if let backup = result.backup {
        lines.append(
          "  backup   \(name(of: backup))" + (keepsBackup ? "" : ", until the store is opened the next time"))
      }
    } else if source != destination || hasNewIndexes {
      let way =
        source == destination ? "" : "version \(source) to version \(destination), which stores the same; "
      lines.append(
        "\(store): \(way.isEmpty ? "version \(destination); " : way)"
          + (hasNewIndexes ? "its indexes were brought up to date" : "nothing to do"))
    } else {
      lines.append("\(store): already at version \(destination)")
    }
    if let findings {
      lines += findings
      lines.append(findings.isEmpty ? "the store is whole" : Quantity.count(findings.count, "finding"))
    }
    return lines.joined(separator: "\n")
  }

  /// The path of a backup, in the form of the store's path. If that is a link, the backup is beside the store itself, and
  /// has an absolute path.
  private func name(of backup: URL) -> String {
    let path = backup.path(percentEncoded: false)
    let name =
      FileSystem.url(store).deletingLastPathComponent().relativePath + "/" + backup.lastPathComponent
    guard let real = FileSystem.realPath(name), real == FileSystem.realPath(path) else { return path }
    return name.hasPrefix("./") ? String(name.dropFirst(2)) : name
  }

  private static func way(_ result: MigrationResult) -> String {
    if let schema = result.schemaBeside {
      return "in the schema '\(schema)', with one transaction for all rows"
    }
    return result.isInPlace ? "in place, in one transaction" : "as a new file"
  }

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("store", .string(store)), .init("from", .count(source)), .init("to", .count(destination)),
      .init(
        "steps",
        .array(
          (result?.steps ?? []).map {
            .object([.init("from", .count($0.source)), .init("to", .count($0.destination))])
          })), .init("objects", .count(objects)),
    ]
    if let result {
      members += [
        .init("inPlace", .bool(result.isInPlace)), .init("seconds", .seconds(result.duration)),
      ]
      if let schema = result.schemaBeside { members.append(.init("schema", .string(schema))) }
      if let backup = result.backup {
        members += [
          .init("backup", .string(backup.path(percentEncoded: false))),
          .init("backupIsKept", .bool(keepsBackup)),
        ]
      }
    }
    if let findings { members.append(.init("findings", .array(findings.map(JSONValue.string)))) }
    return .object(members)
  }
}
