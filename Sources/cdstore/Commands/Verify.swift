import ArgumentParser
import CDConsole
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
    let findings = try findings()
    for finding in findings { try Lines.write(finding.description) }
    guard findings.isEmpty else {
      Lines.error("\(findings.count) \(findings.count == 1 ? "finding" : "findings")")
      throw ExitCode.failure
    }
    try Lines.write("\(store) is whole")
  }

  private func findings() throws -> [StoreFinding] {
    guard FileManager.default.fileExists(atPath: store) else {
      throw Failure("there is no store at \(store)")
    }
    try CoreDataModel.refuse(store)
    // The data hash decides whether a store is opened or first migrated. So a wrong hash is reported by itself.
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: URL(filePath: store))
    let hashes = ModelHashes(metadata.modelVersion)
    guard
      ([hashes.data] + hashes.configurations.values).contains(where: { $0.description == metadata.dataHash })
    else { return [.wrongHash(key: "dataHash")] }
    return try ModelSource.open(store, isReadOnly: true).persistentStoreCoordinator.verify()
  }
}
