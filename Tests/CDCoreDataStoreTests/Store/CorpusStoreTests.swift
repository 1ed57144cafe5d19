import CDCoreDataStore
import CDModel
import CDRuntime
import CDSchema
import CDXcode
import Foundation
import Testing

/// Real stores of other projects, which are no part of this one: `CDGEN_CORPUS` names the folder that has them, with a
/// table `STORES.tsv` of their paths and the model versions that they are of.
@Suite("Real stores of Core Data") struct CorpusStoreTests {
  private static let folder = ProcessInfo.processInfo.environment["CDGEN_CORPUS"]

  @Test(.enabled(if: folder != nil, "CDGEN_CORPUS names no folder of stores; they are not looked at"))
  func everyStoreIsCopiedAsItIs() throws {
    let root = URL(filePath: try #require(Self.folder))
    let table = try String(contentsOf: root.appending(path: "STORES.tsv"), encoding: .utf8)
    var count = 0
    for line in table.split(separator: "\n").dropFirst() {
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count > 12 else { continue }
      let url = root.appending(path: cells[1])
      // "0 column differences: REPO/X.xcdatamodeld/X 2 | …"
      let versions = cells[12].split(separator: ":", maxSplits: 1).dropFirst().first.map {
        $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      }
      guard let versions, let first = versions.first else {
        _ = try CoreDataStore(at: url)
        print("\(cells[1]): no model")
        continue
      }
      try check(url, bundle: root.appending(path: (first as NSString).deletingLastPathComponent), versions)
      count += 1
    }
    #expect(count > 0)
  }

  private func check(_ url: URL, bundle: URL, _ names: [String]) throws {
    let name = url.lastPathComponent
    let result = XcodeImporter(try XcodeBundle(contentsOf: bundle.path)).run(id: UUID())
    let model = try #require(result.model, "\(name): \(result.diagnostics.filter { $0.severity == .error })")
    let labels = names.map { ($0 as NSString).lastPathComponent }
    let before = try Data(contentsOf: url)
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let target = folder.appending(path: "copy.sqlite")
    let store = try CoreDataStore(at: url)
    let start = ContinuousClock.now
    let copy: CoreDataStoreCopy
    do {
      copy = try store.copy(to: .sqlite(target), model: model)
    } catch CoreDataStoreError.severalFittingVersions(_, _, let numbers) {
      // The table says no more than the file does.
      #expect(Set(numbers.compactMap { model.version($0)?.label }) == Set(labels), "\(name)")
      copy = try store.copy(to: .sqlite(target), model: model, version: numbers.last)
    } catch CoreDataStoreError.losses {
      copy = try store.copy(to: .sqlite(target), model: model, acceptsLosses: true)
    }
    let time = ContinuousClock.now - start
    #expect(labels.contains(copy.version.label ?? ""), "\(name): \(copy.version.label ?? "")")
    // The projects have not kept the files of large values with their stores.
    let lost = copy.losses.first.map(\.reason).filter {
      !$0.hasSuffix("is not in the folder of the store's external data")
    }
    #expect(lost == [] && copy.losses.count == copy.losses.first.count, "\(name)")
    #expect(try Data(contentsOf: url) == before)
    let rows = try compare(url, target, copy, in: folder)
    let container = try PersistentContainer(
      model: PersistentStoreCoordinator.metadata(forStoreAt: target).managedObjectModel, at: target)
    // Core Data has let some save without the objects that their model asks for.
    let findings = try container.persistentStoreCoordinator.verify().filter { finding in
      if case .invalid(let error) = finding, case .wrongCount = error.reason { false } else { true }
    }
    #expect(findings == [], "\(name): \(findings.prefix(5))")
    print(
      "\(name): \(copy.counts.values.reduce(0, +)) objects, \(rows) values and pairs compared, \(time), "
        + "version \(copy.version.number) '\(copy.version.label ?? "")', "
        + "\(copy.remarks.count) remarks, \(copy.losses.count) losses")
  }

  /// Compares the copy with the original, entity by entity, by plain SQL on both.
  private func compare(_ url: URL, _ target: URL, _ copy: CoreDataStoreCopy, in folder: URL) throws -> Int {
    // A journal is replayed, which the original must not see.
    let original = folder.appending(path: "original")
    for end in ["", "-wal"] where FileManager.default.fileExists(atPath: url.path + end) {
      try FileManager.default.copyItem(
        atPath: url.path + end, toPath: original.path(percentEncoded: false) + end)
    }
    let (old, new) = (try PlainDatabase(original), try PlainDatabase(target))
    let graph = EntityGraph(copy.version)
    let numbers = Dictionary(
      uniqueKeysWithValues: try old.rows("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY").map { ($0[0], $0[1]) })
    var count = 0
    for entity in copy.version.entities where !entity.isAbstract {
      let root = try #require(graph.root(of: entity.name)).name
      let number = try #require(numbers[entity.name])
      let ofEntity = graph.subentities(of: root).isEmpty ? "" : " WHERE _entity = '\(entity.name)'"
      let table = "Z\(root.uppercased())"
      let total = try old.scalar("SELECT count(*) FROM \(table) WHERE Z_ENT = \(number)")
      #expect(try new.scalar("SELECT count(*) FROM \"\(root)\"\(ofEntity)") == total)
      #expect("\(copy.counts[entity.name] ?? 0)" == total)
      let names = Set(try new.rows("PRAGMA table_info(\"\(root)\")").map { $0[1] })
      let oldNames = Set(try old.rows("PRAGMA table_info(\(table))").map { $0[1] })
      for column in graph.columns(of: entity.name) {
        let name = names.contains(column.name) ? column.name : "\(column.entity).\(column.name)"
        var stored = "Z\(column.name.uppercased())"
        // The second of two siblings with a property of this name.
        if name != column.name, oldNames.contains(stored + "1"),
          try old.scalar("SELECT count(\(stored)) FROM \(table) WHERE Z_ENT = \(number)") == "0"
        {
          stored += "1"
        }
        let before = try old.rows(
          "SELECT Z_PK, \(stored) FROM \(table) WHERE Z_ENT = \(number) ORDER BY Z_PK")
        let after = try new.rows("SELECT _pk, \"\(name)\" FROM \"\(root)\"\(ofEntity) ORDER BY _pk")
        #expect(before.count == after.count)
        for (one, other) in zip(before, after) {
          #expect(
            one[0] == other[0] && isSame(one[1], other[1], column),
            "\(url.lastPathComponent) \(entity.name).\(column.name) p\(one[0]): \(one[1]) and \(other[1])")
          count += 1
        }
        let position = "Z_FOK_" + stored.dropFirst()
        if oldNames.contains(position) {
          #expect(
            try old.rows("SELECT Z_PK, \(position) FROM \(table) WHERE Z_ENT = \(number) ORDER BY 1")
              == new.rows("SELECT _pk, \"\(name).position\" FROM \"\(root)\"\(ofEntity) ORDER BY 1"))
        }
      }
    }
    return try count + comparePairs(old, new, graph)
  }

  /// All pairs of all tables of pairs, as sets: which of the columns is whose side is not for this test to know.
  private func comparePairs(_ old: PlainDatabase, _ new: PlainDatabase, _ graph: EntityGraph) throws -> Int {
    func tables(_ database: PlainDatabase, _ pattern: String) throws -> [String] {
      try database.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '\(pattern)'").map
      { $0[0] }
    }
    func pairs(_ database: PlainDatabase, _ table: String, _ columns: [String]) throws -> [[String]] {
      try database.rows("SELECT \(columns.joined(separator: ", ")) FROM \"\(table)\"")
        .map { $0.sorted() }.sorted { $0.lexicographicallyPrecedes($1) }
    }
    var before: [[[String]]] = []
    for table in try tables(old, "Z_[0-9]*") {
      let columns = try old.rows("PRAGMA table_info(\"\(table)\")").map { $0[1] }.filter {
        !$0.hasPrefix("Z_FOK")
      }
      before.append(try pairs(old, table, columns))
    }
    let after = try tables(new, "*.*").map { try pairs(new, $0, ["_source", "_target"]) }
    func sorted(_ lists: [[[String]]]) -> [[[String]]] {
      lists.filter { !$0.isEmpty }.sorted { "\($0)" < "\($1)" }
    }
    #expect(sorted(before) == sorted(after))
    return before.reduce(0) { $0 + $1.count }
  }

  private func isSame(_ old: String, _ new: String, _ column: StoredColumn) -> Bool {
    if old == new { return true }
    switch column.type {
    case .date?, .float?, .double?: return Double(old) == Double(new)
    case .decimal?: return new.hasSuffix(" " + old)
    case .data? where isExternal(column) && new == "NULL": return old.hasPrefix("x'02")
    case .data? where isExternal(column): return old.hasPrefix("x'01") && "x'" + old.dropFirst(4) == new
    // Filled by the default; the report counts them.
    case .codable?: return old.hasPrefix("x'62706c697374")
    default: return false
    }
  }

  private func isExternal(_ column: StoredColumn) -> Bool {
    if case .attribute(let attribute) = column.property { attribute.storesExternally } else { false }
  }
}
