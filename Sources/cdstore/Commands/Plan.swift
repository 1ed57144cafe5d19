import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore plan`
struct Plan: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the SQL of a migration without a store.",
    discussion: """
      Creates an empty store of the older version in a temporary folder, rehearses the migration, and prints each \
      step with its statements. Without --from, it shows the step from the previous version to the current one.

        cdstore plan Notes.cdmodel
        cdstore plan Notes.cdmodel --from 1 --to 4
        cdstore plan Notes.cdmodel --dialect postgresql

      With --dialect postgresql, the command shows the steps, and the statements that the server executes. If a step \
      computes values of rows, the rows are migrated in a SQLite file, and written to new tables. The option needs a \
      program with the trait PostgreSQL.

      To see the SQL for an existing store, and the number of values that are lost, use 'cdstore migrate --dry-run \
      --sql'. To see the changes without SQL, use 'cdgen diff'.

      The exit status is 1 if a step cannot be made. The command cannot make steps that need the app's own code.
      """)

  @Argument(help: "The folder of the model, or the file of a compiled model.", completion: .directory)
  var model: String

  @Option(help: ArgumentHelp("The first version of the migration.", valueName: "number"))
  var from: Int?

  @Option(
    help: ArgumentHelp(
      "The last version of the migration. The default is the current version.", valueName: "number"))
  var to: Int?

  enum Dialect: String, CaseIterable, ExpressibleByArgument { case sqlite, postgresql }

  @Option(help: "The SQL to show: that of a file, or that of a server.")
  var dialect: Dialect = .sqlite

  func run() throws {
    let destination = try ModelSource.load(model, version: to)
    let source = try ModelSource.load(model, version: try from ?? before(destination))
    let folder = try TemporaryFolder(prefix: "cdstore-plan-")
    let description = PersistentStoreDescription(.sqlite(folder.url.appending(path: "empty.sqlite")))
    // The coordinator must release the file before the rehearsal opens it.
    do { _ = try PersistentStoreCoordinator(model: source, stores: [description]) }
    var rehearsal = MigrationRehearsal(description, model: destination)
    rehearsal.workFolder = folder.url
    let report = try rehearsal.run()
    try Lines.write(RehearsalText(report: report, store: model, showsSQL: dialect == .sqlite).plan)
    if dialect == .postgresql {
      try Lines.write("")
      for statement in try StoreName.serverStatements(from: source, to: destination) {
        try Lines.write(statement + ";")
      }
    }
    if !report.succeeds { throw ExitCode.failure }
  }

  private func before(_ model: ManagedObjectModel) throws -> Int {
    let version = model.currentVersion
    guard let number = version?.basedOn.max() else {
      throw Failure("version \(model.currentVersionNumber) is the first one; name another with --to")
    }
    return number
  }
}
