import ArgumentParser
import CDConsole
import CDRuntime
import CDTooling
import Foundation

/// `cdstore verify`
struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a store completely: the file, the references, and every value.",
    discussion: """
      Prints one line for each finding, and changes nothing. Values are checked against the rules of the model. The exit \
      status is 1 if there are findings.

        cdstore verify Notes.sqlite
        cdstore verify Notes.sqlite --format json
      """)

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  @Option(
    help: ArgumentHelp(
      "The format of the output.",
      discussion: "'text' is for people. 'json' is a list of the findings. 'sarif' is a SARIF log."))
  var format: FindingReport.Format = .text

  func run() throws {
    let findings = try findings()
    let name = StoreName(store).title
    let report = FindingReport(findings, of: name)
    switch format {
    case .json: try Lines.write(report.json.indentedText)
    case .sarif: try Lines.write(report.sarif.json.indentedText)
    case .text:
      for finding in findings { try Lines.write(Lines.plain(finding.description)) }
      if findings.isEmpty {
        try Lines.write(Terminal.text("\(name) is whole", .success, on: .output))
      } else {
        let count = "\(findings.count) \(findings.count == 1 ? "finding" : "findings")"
        Console.error(Terminal.text(count, .error, on: .errors))
      }
    }
    if !findings.isEmpty { throw ExitCode.failure }
  }

  private func findings() throws -> [StoreFinding] {
    let name = StoreName(store)
    try name.requireStore()
    try CoreDataModel.refuse(store)
    // The data hash decides whether a store is opened or first migrated. So a wrong hash is reported by itself.
    let metadata = try name.metadata()
    let hashes = ModelHashes(metadata.modelVersion)
    guard
      ([hashes.data] + hashes.configurations.values).contains(where: { $0.description == metadata.dataHash })
    else { return [.wrongHash(key: "dataHash")] }
    return try ModelSource.open(store, isReadOnly: true).persistentStoreCoordinator.verify()
  }
}
