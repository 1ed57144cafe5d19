import ArgumentParser
import CDConsole
import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation

/// `cdstore convert`
struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy a store to a new store of another type, or convert a store of Core Data.",
    discussion: """
      The copy has the same version and the same identifiers. A store on a server is named by its URL.

        cdstore convert Notes.sqlite Notes.xml --type xml
        cdstore convert Notes.sqlite 'postgresql://db.example.com/notes?schema=notes'

      To convert a SQLite store of Core Data, pass its model: the model of Xcode, or the model that 'cdgen import' has \
      created from it. The store is never written to. Its tables determine the version of the model. If an app will \
      open the new store, pass the model of the app, a folder NAME.cdmodel.

        cdstore convert Library.sqlite New.sqlite --model Schemas/Library.cdmodel

      If a value cannot be converted, the command fails with an error that names it. With --accept-losses, it \
      prints a warning and leaves out the value.
      """)

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  @Argument(
    help: "The file of the new store, or the URL of a server. The store must not exist yet.",
    completion: .file())
  var out: String

  @Option(help: "The type of the new file. The default is sqlite.")
  var type: StoreType?

  @Option(
    help: "The model of a store of Core Data: a folder NAME.cdmodel or NAME.xcdatamodeld.",
    completion: .directory)
  var model: String?

  @Option(help: "The number of the version of a Core Data store, if its tables do not determine it.")
  var version: Int?

  @Flag(help: "Leave out the values of a Core Data store that the new store cannot contain.")
  var acceptLosses = false

  func run() throws {
    let (source, target) = (StoreName(store), StoreName(out))
    try source.requireStore()
    let location = try target.newLocation(type)
    if source.isCoreData {
      guard !target.isOnServer else {
        throw Failure("a store of Core Data is converted to a file; then convert that file")
      }
      return try convertCoreDataStore(to: location)
    }
    guard model == nil, version == nil, !acceptLosses else {
      try CoreDataModel.refuseOther(store, options: "--model, --version and --accept-losses are")
    }
    try PersistentStoreCoordinator.copyPersistentStore(at: source.location(), to: location)
    try Lines.write("\(target.title): \(target.newType(type))")
  }

  private func convertCoreDataStore(to location: StoreLocation) throws {
    guard let path = model else {
      throw Failure(
        "\(store) is a store of Core Data, which does not carry its model; name it with --model, as a folder "
          + "NAME.cdmodel or NAME.xcdatamodeld")
    }
    let model = try CoreDataModel.load(path)
    let copy: CoreDataStoreCopy
    do {
      copy = try CoreDataStore(at: FileSystem.url(store)).copy(
        to: location, model: model, version: version, acceptsLosses: acceptLosses)
    } catch CoreDataStoreError.losses(let url, let losses) {
      throw Failure("\(CoreDataStoreError.losses(url, losses))\n" + remedy(losses))
    } catch let error as CoreDataStoreError {
      if case .severalFittingVersions = error { throw Failure("\(error), with --version") }
      throw error
    }
    for remark in copy.remarks { Lines.error("warning: \(remark)") }
    if copy.losses.count > 0 {
      Lines.error("warning: \(copy.losses.count) values were not copied:\n\(copy.losses)")
    }
    if CoreDataModel.isXcodes(path) {
      Lines.error(
        "note: the model of the new store is one of its own; for a store that an app is to open, name the folder that "
          + "'cdgen import' made")
    }
    try Lines.write(
      "\(out): \((type ?? .sqlite).rawValue), \(model.name), version \(CoreDataModel.title(copy.version))")
    try Lines.write("")
    try Lines.write(
      Lines.table(
        ["Entity", "Objects"],
        copy.version.entities.filter { !$0.isAbstract }.map { [$0.name, "\(copy.counts[$0.name] ?? 0)"] }))
  }

  private func remedy(_ losses: CoreDataLosses) -> String {
    losses.unacceptableCount == 0
      ? "nothing was created; --accept-losses continues without them"
      : "nothing was created; in \(losses.unacceptableCount) of them an object cannot exist without the value: correct "
        + "the store with the app that made it, or make the property optional in the model's version"
  }
}
