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
      enumeration is the name of its case. Derived attributes are left out, because 'cdstore load' computes them. \
      Objects are in the order of the entities in the model; subentities follow their parent entity. They are read one \
      after another, so that a large store needs little memory.

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
      var count = 0
      for entity in entities {
        let rows = DumpRows(of: entity.name, graph, in: context)
        try context.forEachObject(ofEntity: entity.name) { object in
          try output.write(rows.row(object, &outsideCounts).canonicalText)
          count += 1
          progress.show(part: Double(count) / Double(max(total, 1)), entity.name)
        }
      }
      return count
    }
  }
}
