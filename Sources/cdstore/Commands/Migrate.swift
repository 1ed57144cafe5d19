import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore migrate`
struct Migrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Migrate a store to a version of its model, completely or not at all.",
    discussion: """
      At any moment, the store is either the complete old store or the complete new one. Control-C ends the migration \
      and leaves the store as it was. --dry-run migrates a copy, and reports the losses and the problems.

        cdstore migrate Notes.sqlite --model Notes.cdmodel
        cdstore migrate Notes.sqlite --model Notes.cdmodel --dry-run --sql
        cdstore migrate Notes.sqlite --model Notes.cdmodel --to 3 --keep-backup --verify

      The command cannot make steps that need the app's own code. The app makes them when it opens the store.

      The exit status is 0 if the store has the version afterwards (with --dry-run: if it would have it), 1 if not, 64 \
      if the arguments are invalid, and 130 if the migration was interrupted.
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument { case text, json }

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  @Option(help: "The folder of the model, or the file of a compiled model.", completion: .directory)
  var model: String

  @Option(help: "The version to migrate to. The default is the current version.")
  var to: Int?

  @Option(help: "The configuration whose entities the store contains.")
  var configuration: String?

  @Flag(help: "Migrate a copy. The store is only read.")
  var dryRun = false

  @Flag(help: "With --dry-run, print the SQL statements.")
  var sql = false

  @Option(
    help: "With --dry-run, the folder for the copy. The default is the system's folder for temporary files.")
  var workFolder: String?

  @Flag(help: "Keep the old file, if the migration creates a new one.")
  var keepBackup = false

  @Flag(help: "Check the migrated store completely, as 'cdstore verify' does.")
  var verify = false

  @Option(help: "The format of the result.")
  var format: Format = .text

  func validate() throws {
    guard !dryRun || !(keepBackup || verify) else {
      throw ValidationError("--keep-backup and --verify are for a migration; leave them out, or --dry-run")
    }
    guard dryRun || !sql && workFolder == nil else {
      throw ValidationError("--sql and --work-folder go with --dry-run")
    }
  }

  func run() throws {
    try CoreDataModel.refuse(store)
    let model = try ModelSource.load(model, version: to)
    let name = StoreName(store)
    try name.requireStore()
    let location = try name.location()
    let interruption = Interruption()
    let progress = ProgressLine(isQuiet: format == .json)
    var description = PersistentStoreDescription(location, configuration: configuration)
    description.keepsBackup = keepBackup
    description.migrationObserver = MigrationObserver(
      progress: { progress.show($0) }, isCancelled: { [flag = interruption.flag] in flag.isRaised })
    do {
      defer {
        progress.end()
        withExtendedLifetime(interruption) {}
      }
      if dryRun {
        try rehearse(description, model, progress)
      } else {
        try migrate(description, model, progress)
      }
    } catch let error as MigrationError where error.reason == .cancelled {
      Lines.error("interrupted; the store was not changed")
      throw ExitCode(130)
    }
  }

  // MARK: Migrating

  private func migrate(
    _ description: PersistentStoreDescription, _ model: ManagedObjectModel, _ progress: ProgressLine
  ) throws {
    let name = StoreName(store)
    let before = try name.metadata()
    let coordinator = try PersistentStoreCoordinator(model: model, stores: [description])
    progress.end()
    let result = coordinator.migrations.first
    let findings = verify ? try coordinator.verify() : []
    let after = try name.metadata()
    let outcome = MigrationOutcome(
      store: name.title, source: before.modelVersion.number, destination: after.modelVersion.number,
      result: result, hasNewIndexes: before.layoutHash != after.layoutHash,
      objects: try objects(PersistentContainer(coordinator).newContext(), after.modelVersion),
      keepsBackup: keepBackup, findings: verify ? findings.map(\.description) : nil)
    Lines.write(
      summary: format == .json ? outcome.json.canonicalText : outcome.text,
      of: "the store has version \(outcome.destination)")
    if !findings.isEmpty { throw ExitCode.failure }
  }

  private func objects(_ context: ManagedObjectContext, _ version: ModelVersion) throws -> Int {
    let graph = EntityGraph(version)
    return try version.entities.filter { graph.root(of: $0.name)?.name == $0.name }.reduce(0) { sum, entity in
      do {
        return sum + (try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name)))
      } catch StoreError.noStore {
        return sum
      }
    }
  }

  // MARK: Rehearsing

  private func rehearse(
    _ description: PersistentStoreDescription, _ model: ManagedObjectModel, _ progress: ProgressLine
  ) throws {
    var rehearsal = MigrationRehearsal(description, model: model)
    if let workFolder { rehearsal.workFolder = FileSystem.url(workFolder, directoryHint: .isDirectory) }
    let report = try rehearsal.run()
    progress.end()
    let printed = RehearsalText(report: report, store: StoreName(store).title, showsSQL: sql)
    try Lines.write(format == .json ? printed.json.canonicalText : printed.text)
    if !report.succeeds { throw ExitCode.failure }
  }
}
