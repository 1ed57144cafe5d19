import CDRuntime
import Foundation
import SeededRandom
import Testing

/// Values at the ends of their types: they come back as they were given, from a file and from memory, also when
/// they were compared by the store in between.
@Suite struct ExtremeValueTests {
  private static let model = ManagedObjectModel(
    name: "Extremes", id: UUID(uuidString: "0F9D8C8E-2E57-4A8B-8C54-5F0F8F4B7F10") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Thing",
            attributes: [
              ("string", .string), ("int16", .int16), ("int32", .int32), ("int64", .int64), ("float", .float),
              ("double", .double), ("decimal", .decimal), ("date", .date), ("data", .data), ("url", .url),
            ].map { AttributeDescription(name: $0, type: $1, isOptional: true) } + [
              AttributeDescription(name: "file", type: .data, isOptional: true, storesExternally: true)
            ])
        ])
    ], currentVersionNumber: 1)

  static let cases: [(key: String, value: AttributeValue)] = [
    ("string", .string("")), ("string", .string("a\u{0}b")), ("string", .string("\u{FEFF}x\r\n\u{2028}")),
    ("string", .string("e\u{301}")), ("string", .string("👩‍👩‍👧‍👦🏳️‍🌈")),
    ("string", .string(String(repeating: "ßİ", count: isThorough ? 500_000 : 50_000))),
    ("int16", .int(Int64(Int16.min))), ("int16", .int(Int64(Int16.max))),
    ("int32", .int(Int64(Int32.min))), ("int32", .int(Int64(Int32.max))),
    ("int64", .int(.min)), ("int64", .int(.max)),
    ("float", .double(Double(Float.greatestFiniteMagnitude))),
    ("float", .double(Double(Float.leastNonzeroMagnitude))), ("float", .double(-.infinity)),
    ("double", .double(.greatestFiniteMagnitude)), ("double", .double(-.leastNonzeroMagnitude)),
    ("double", .double(.infinity)), ("double", .double(0.1 + 0.2)),
    ("double", .double(9_007_199_254_740_991)),
    ("decimal", .decimal(.greatestFiniteMagnitude)), ("decimal", .decimal(-.greatestFiniteMagnitude)),
    ("decimal", .decimal(.leastNonzeroMagnitude)),
    ("decimal", .decimal(Decimal(sign: .minus, exponent: -128, significand: 1))),
    ("decimal", .decimal(Decimal(sign: .plus, exponent: 127, significand: 12_345_678))),
    ("decimal", .decimal(Decimal(string: "-0.00000000000000000000000000000000000001") ?? 0)),
    ("date", .date(.distantPast)), ("date", .date(.distantFuture)),
    ("date", .date(Date(timeIntervalSinceReferenceDate: -1e300))),
    ("date", .date(Date(timeIntervalSinceReferenceDate: 0.1 + 0.2))),
    ("data", .data(Data())), ("data", .data(Data(0...255))),
    ("data", .data(Data(count: isThorough ? 10_000_000 : 1_000_000))),
    ("url", .url(URL(string: "http://x/?q=%F0%9F%91%A9#a") ?? URL(filePath: "/"))),
    ("file", .data(Data())),
    ("file", .data(Data(repeating: 7, count: isThorough ? 100_000_000 : 3_000_000))),
  ]

  // By their places, since Foundation traps where it is to describe the dates.
  @Test(.onceForAllKinds, arguments: cases.indices)
  func theyComeBack(index: Int) throws {
    let (key, value) = Self.cases[index]
    let store = try TemporaryStore()
    let planned = try PlannedModel.remembered(Self.model)
    for kind in StoreKind.allCases {
      // A server refuses the character in a text.
      if case .string(let text) = value, text.utf8.contains(0), kind.zero != "\0" { continue }
      let url = store.folder.appending(path: "\(kind)")
      let location = kind.location(url)
      // A server drops its schemas at the end.
      defer { if kind == .plain { kind.drop(url) } }
      var coordinator = try planned.coordinator(at: location)
      let id = try {
        let context = PersistentContainer(coordinator).newContext()
        let thing = try context.insert(entityNamed: "Thing")
        try thing.setValue(.attribute(value), forKey: key)
        try context.save()
        return thing.objectID
      }()
      if !kind.isInMemory {
        // Something else in between, for a file has one owner.
        coordinator = try planned.coordinator(at: .inMemory)
        coordinator = try planned.coordinator(at: location)
      }
      let other = PersistentContainer(coordinator).newContext()
      let read = try other.existingObject(with: id)
      let found = try read.value(forKey: key)
      #expect(found == .attribute(value), "\(kind) \(key) \(index)")
      if case .attribute(.string(let found)) = found, case .string(let given) = value {
        #expect(Array(found.utf8) == Array(given.utf8))
      }
      #expect(other.recentErrors == [])
      #expect(try coordinator.verify() == [])
    }
  }

  @Test func minusZeroIsZero() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let thing = try context.insert(entityNamed: "Thing")
    try thing.setValue(.attribute(.double(-0.0)), forKey: "double")
    try context.save()
    for literal in ["0", "-0.0", "0.0"] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Thing", where: try FetchPredicate(format: "double == \(literal)"))
      #expect(try container.newContext().fetch(request).count == 1)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func minusZeroIsTheSameBeforeAndAfterASave(kind: StoreKind) throws {
    let store = ScratchStore(kind)
    let zero = Date(timeIntervalSinceReferenceDate: 0)
    let minus: [(key: String, value: AttributeValue, kept: AttributeValue)] = [
      ("double", .double(-0.0), .double(0)), ("float", .double(-0.0), .double(0)),
      ("date", .date(Date(timeIntervalSinceReferenceDate: -0.0)), .date(zero)),
    ]
    let container = try PersistentContainer(scratchModel: Self.model, store)
    let context = container.newContext()
    let child = ManagedObjectContext(parent: context)
    let thing = try child.insert(entityNamed: "Thing")
    for (key, value, kept) in minus {
      try thing.setValue(.attribute(value), forKey: key)
      #expect(try thing.value(forKey: key) == .attribute(kept))
    }
    try child.save()
    try context.save()
    let other = container.newContext()
    let read = try other.existingObject(with: thing.objectID)
    for object in [thing, read, try context.existingObject(with: thing.objectID)] {
      // Equal to the last bit.
      for (key, _, kept) in minus { #expect(try object.value(forKey: key) == .attribute(kept)) }
    }
    // A value that is that of the store is no conflict.
    try read.setValue(.attribute(.int(1)), forKey: "int16")
    try other.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  static let noNumbers: [(key: String, value: AttributeValue)] = [
    ("double", .double(.nan)), ("float", .double(.nan)), ("decimal", .decimal(.nan)),
    ("date", .date(Date(timeIntervalSinceReferenceDate: .nan))),
    ("date", .date(Date(timeIntervalSinceReferenceDate: .infinity))),
    ("date", .date(Date(timeIntervalSinceReferenceDate: -.infinity))),
  ]

  @Test(arguments: noNumbers.indices)
  func whatIsNoNumberIsRefused(index: Int) throws {
    let (key, value) = Self.noNumbers[index]
    let context = try PersistentContainer(scratchModel: Self.model).newContext()
    let thing = try context.insert(entityNamed: "Thing")
    try thing.setValue(.attribute(value), forKey: key)
    #expect(
      throws: SaveError.validation([
        ValidationError(reason: .notANumber, entity: "Thing", property: key, objectID: thing.objectID)
      ])
    ) { try context.save() }
  }

  /// A text field makes such a URL. A file with its text could not be opened again.
  @Test(arguments: StoreKind.allCases)
  func anEmptyURLIsRefused(kind: StoreKind) throws {
    let empty = try #require(URLComponents().url)
    #expect(empty.absoluteString.isEmpty)
    let container = try PersistentContainer(scratchModel: Self.model, ScratchStore(kind))
    let context = container.newContext()
    let thing = try context.insert(entityNamed: "Thing")
    try thing.setValue(.attribute(.url(empty)), forKey: "url")
    do {
      try context.save()
      Issue.record("the URL has been saved")
    } catch SaveError.validation(let errors) {
      let error = try #require(errors.first)
      #expect(errors.count == 1)
      #expect(error.property == "url")
      #expect(error.objectID == thing.objectID)
      guard case .notStorable = error.reason else {
        Issue.record("\(error)")
        return
      }
    }
    context.rollback()
    let request = BatchInsertRequest<ManagedObject>(
      entityName: "Thing", rows: [["url": .attribute(.url(empty))]])
    #expect(throws: BatchError.self) { try context.execute(request) }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) == 0)
  }

  @Test(arguments: [
    ("int16", AttributeValue.int(32_768)), ("int16", .int(.min)), ("int32", .int(Int64(Int32.max) + 1)),
    ("int64", .double(1)), ("string", .int(1)), ("date", .double(0)), ("data", .string("x")),
  ])
  func whatDoesNotFitIsRefusedAtOnce(key: String, value: AttributeValue) throws {
    let context = try PersistentContainer(scratchModel: Self.model).newContext()
    let thing = try context.insert(entityNamed: "Thing")
    #expect(throws: PropertyError.self) { try thing.setValue(.attribute(value), forKey: key) }
    #expect(try thing.value(forKey: key) == .attribute(.null))
  }
}
