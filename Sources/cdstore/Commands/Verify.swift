import ArgumentParser
import CDRuntime
import Foundation

/// `cdstore verify`
struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a store whole: the file, its references, and every value by the model's rules.",
    discussion: """
      Findings are printed a line each. Nothing is changed.

        cdstore verify Notes.sqlite
      """)

  @Argument(help: "The store's file.", completion: .file())
  var store: String

  func run() throws {
    let container = try ModelSource.open(store, isReadOnly: true)
    let findings = try container.persistentStoreCoordinator.verify()
    for finding in findings { Lines.write(finding.description) }
    guard findings.isEmpty else {
      Lines.error("\(findings.count) \(findings.count == 1 ? "finding" : "findings")")
      throw ExitCode.failure
    }
    Lines.write("\(store) is whole")
  }
}
