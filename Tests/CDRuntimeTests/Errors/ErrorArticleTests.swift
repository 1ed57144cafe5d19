import Foundation
import Testing

/// The article "Handling errors" is complete.
@Suite(.onceForAllKinds) struct ErrorArticleTests {
  private func text(_ path: String) throws -> String {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return try String(contentsOf: root.appending(path: "Sources/CDRuntime/\(path)"), encoding: .utf8)
  }

  /// The enumeration has no list of its cases, because they have values.
  @Test func everyErrorOfStoresIsListed() throws {
    let article = try text("CDRuntime.docc/HandlingErrors.md")
    let source = try text("Errors/StoreError.swift")
    let start = try #require(source.range(of: "public enum StoreError"))
    let end = try #require(source.range(of: "\n}", range: start.upperBound..<source.endIndex))
    let names = source[start.upperBound..<end.lowerBound].split(separator: "\n")
      .filter { $0.hasPrefix("  case ") }.map { $0.dropFirst(7).prefix { $0.isLetter } }
    #expect(names.count > 25)
    for name in names {
      #expect(
        article.contains("`\(name)`") || article.contains("``StoreError/\(name)("),
        "HandlingErrors.md lacks \(name)")
    }
  }

  @Test func everyErrorOfAnOperationIsListed() throws {
    let article = try text("CDRuntime.docc/HandlingErrors.md")
    for name in [
      "BatchError", "CancellationError", "CoreDataStoreError", "EvaluationError", "FetchError", "FormatError",
      "HistoryError", "MigrationError", "ModelError", "ModelMergeError", "PredicateTranslationError",
      "PropertyError", "SaveError", "ServerURLError", "SnapshotError", "StoreError",
    ] {
      #expect(article.contains("`\(name)`"), "HandlingErrors.md lacks \(name)")
    }
  }
}
