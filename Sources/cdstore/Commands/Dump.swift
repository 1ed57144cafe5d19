import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore dump`
struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print all objects of a store as JSON, one in each line.",
    discussion: """
      'cdstore load' creates the same store from the output: the same values, relationships, orders and identifiers. The \
      first line describes the store and contains its model. The last line has the number of objects. Each line \
      between them is an object, with exact values: a date is {"$referenceDate": seconds since 2001}, and a value of an \
      enumeration is the name of its case. A derived value is left out if 'cdstore load' can compute it again. \
      Objects are in the order of the entities in the model; subentities follow their parent entity. They are read one \
      after another, so that a large store needs little memory. The command fails if a value cannot be read, and names it.

        cdstore dump Notes.sqlite > notes.jsonl
        cdstore load Copy.sqlite notes.jsonl
        cdstore dump Notes.sqlite | gzip > notes.jsonl.gz

      If the store is one of several stores of a model, it contains references to objects of the other stores. The \
      dump contains the numbers of these objects, and a note names the relationships. Dump the other stores too.
      """)

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  func run() throws {
    try CoreDataModel.refuse(store)
    let container = try ModelSource.open(store, isReadOnly: true)
    let coordinator = container.persistentStoreCoordinator
    guard let version = coordinator.managedObjectModel.currentVersion,
      let beginning = try coordinator.storeIDs.first.flatMap({ try coordinator.beginning(ofStore: $0) })
    else { return }
    let progress = ProgressLine(isQuiet: true)
    var output = BufferedOutput()
    var outsideCounts = OutsideCounts()
    do {
      try output.write(DumpForm.header(beginning).canonicalText)
      let count = try write(EntityGraph(version), container.newContext(), progress, &output, &outsideCounts)
      try output.write(DumpForm.trailer(count: count).canonicalText)
    } catch {
      progress.end()
      try? output.flush()
      throw error
    }
    progress.end()
    try output.flush()
    for line in outsideCounts.lines("; dump that store too") { Lines.error("note: \(line)") }
  }

  private func write(
    _ graph: EntityGraph, _ context: ManagedObjectContext, _ progress: ProgressLine,
    _ output: inout BufferedOutput, _ outsideCounts: inout OutsideCounts
  ) throws -> Int {
    let entities = graph.entitiesParentsFirst.filter {
      !$0.isAbstract && context.holdsObjects(ofEntity: $0.name)
    }
    return try context.perform {
      var total = 0
      for entity in entities {
        var request = FetchRequest<ManagedObject>(entityName: entity.name)
        request.includesSubentities = false
        total += try context.count(for: request)
      }
      try checkEntities(graph, context, total: total)
      var count = 0
      for entity in entities {
        let rows = DumpRows(of: entity.name, graph, in: context)
        try context.forEachObject(ofEntity: entity.name) { object in
          let row = try rows.row(object, &outsideCounts).canonicalText
          try checkErrors(context)
          try output.write(row)
          count += 1
          progress.show(part: Double(count) / Double(max(total, 1)), entity.name)
        }
      }
      guard count == total else {
        let missing = total - count
        throw Failure(
          "\(missing) \(missing == 1 ? "row has" : "rows have") a key below 1; 'cdstore verify' names them")
      }
      return count
    }
  }

  /// Throws if rows have an entity that is unknown to the model or abstract. The count of their root entity includes such
  /// rows, but the dump would silently lack them.
  private func checkEntities(_ graph: EntityGraph, _ context: ManagedObjectContext, total: Int) throws {
    var rows = 0
    for root in graph.version.entities where root.parent == nil && context.holdsObjects(ofEntity: root.name) {
      rows += try context.count(for: FetchRequest<ManagedObject>(entityName: root.name))
    }
    let strange = rows - total
    if strange != 0 {
      throw Failure(
        "\(strange) \(strange == 1 ? "row has" : "rows have") an entity that is unknown to the model or "
          + "abstract; 'cdstore verify' names them")
    }
  }

  /// Throws if something could not be read. The dump would have made-up values for it, such as 0.
  private func checkErrors(_ context: ManagedObjectContext) throws {
    guard let error = context.recentErrors.first else { return }
    throw Failure("\(StoreFinding.unreadable(error)); 'cdstore verify' names all such values")
  }
}
