import Foundation
import Testing

/// What the compiler says of several mistakes, each in a file of its own of one module.
///
/// The compiler looks for data races only where the types of the whole module are right. So a second run has the files of
/// which the first one says nothing.
struct Refusals: Sendable {
  private let outcome: Result<[String: [String]], any Error>

  /// - Parameter reference: The name of the case whose generated files the mistakes use.
  init(of mistakes: [RefusalTests.Mistake], beside reference: String, imports: [String]) {
    outcome = Result {
      var found: [String: [String]] = [:]
      try SourceFolder.with { folder in
        let head = imports.map { "import \($0)\n" }.joined()
        let files = try mistakes.indices.map { index in
          try folder.write(
            head + Self.source(of: mistakes[index], number: index) + "\n", "Refused\(index).swift")
        }
        var remaining = Array(mistakes.indices)
        for _ in 1...2 where !remaining.isEmpty {
          let outcome = try SwiftCompiler().check(
            try ReferenceCase(name: reference).expectedFiles + remaining.map { files[$0] })
          let errors = Dictionary(grouping: outcome.placedErrors, by: \.path)
          for index in remaining {
            found[mistakes[index].testDescription] = errors[files[index].path]?.map(\.text)
          }
          remaining.removeAll { found[mistakes[$0].testDescription] != nil }
          let elsewhere = outcome.placedErrors.filter { error in !files.contains { $0.path == error.path } }
          try #require(elsewhere.isEmpty, "\(outcome.messages)")
        }
      }
      return found
    }
  }

  /// The errors of one mistake; none if it compiles.
  func errors(of mistake: RefusalTests.Mistake) throws -> [String] {
    try outcome.get()[mistake.testDescription] ?? []
  }

  /// The source with names of its own for what it declares, since all files are one module.
  private static func source(of mistake: RefusalTests.Mistake, number: Int) -> String {
    ["func f(", "Shelf", "show("].reduce(mistake.source) { source, name in
      let isCall = name.hasSuffix("(")
      return source.replacing(name, with: isCall ? "\(name.dropLast())\(number)(" : "\(name)\(number)")
    }
  }
}
