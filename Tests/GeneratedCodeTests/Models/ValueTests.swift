import CDRuntime
import Foundation
import Testing

/// Every type and default, there and back through a store.
@Suite struct ValueTests {
  @Test(arguments: StorePlace.allCases)
  func everyScalarComesBackAsItWas(place: StorePlace) throws {
    let store = try TestStore(place, ScalarsModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let moment = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    let token = UUID()
    let link = try #require(URL(string: "https://example.org/a?b=c#d"))
    _ = Sample(
      text: "naïve\u{0}😀", flag: true, small: .min, medium: .max, large: .min, single: 0.1, precise: -0.0,
      amount: Decimal(string: "-12345678901234567890.123456789") ?? 0, moment: moment,
      bytes: Data([0, 255]), token: token, link: link, in: context)
    let empty = OptionalSample(in: context)
    try context.save()
    let other = try store.reopened().newContext()
    let sample = try #require(try Sample.objects(in: other).first)
    #expect(sample.text == "naïve\u{0}😀" && sample.flag && sample.small == .min && sample.medium == .max)
    #expect(sample.large == .min && sample.single == 0.1 && sample.precise == 0)
    #expect(sample.amount == Decimal(string: "-12345678901234567890.123456789"))
    #expect(sample.moment == moment && sample.bytes == Data([0, 255]) && sample.token == token)
    #expect(sample.link == link)
    let read = try #require(try OptionalSample.objects(in: other).first)
    #expect(read.objectID == empty.objectID)
    #expect(read.text == nil && read.flag == nil && read.large == nil && read.amount == nil)
    #expect(read.moment == nil && read.bytes == nil && read.token == nil && read.link == nil)
  }

  @Test func defaultsAreThoseOfTheSchema() throws {
    let context = try PersistentContainer(inMemoryFor: DefaultsModel.self).newContext()
    withExtendedLifetime(context) {
      let before = Date()
      let preset = Preset(in: context)
      #expect(preset.text == "He said \"\\(no)\"\nand left\t😀 é \u{7}")
      #expect(preset.empty.isEmpty && preset.flag)
      #expect(preset.lowest16 == .min && preset.lowest32 == .min && preset.lowest64 == .min)
      #expect(preset.highest64 == .max && preset.single == 0.1 && preset.precise == 1e300)
      #expect(preset.tiny == Double.leastNonzeroMagnitude && preset.zero == 0)
      #expect(preset.amount == Decimal(string: "-9.99"))
      #expect(preset.long == Decimal(string: "12345678901234567890123456789012345678"))
      #expect(preset.longFraction == Decimal(string: "0.00000000000000000001"))
      #expect(preset.moment == Date(timeIntervalSince1970: 1_709_209_800))
      #expect(preset.bytes == Data([0, 1, 2, 255]))
      #expect(preset.token == UUID(uuidString: "5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11"))
      #expect(preset.added >= before && preset.serial != Preset(in: context).serial)
      #expect(preset.maybeText == "something" && preset.maybeAmount == Decimal(string: "1.5"))
    }
  }

  @Test(arguments: StorePlace.allCases)
  func enumerationsKeepTheirRawValues(place: StorePlace) throws {
    let store = try TestStore(place, EnumsModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let painting = Painting(shade: .dark, in: context)
    #expect(painting.priority == .normal && painting.maybeCode == Code.none && painting.huge == .bigger)
    painting.code = .some
    painting.word = .in
    try context.save()
    let other = try store.reopened().newContext()
    let copy = try #require(try Painting.objects(in: other).first)
    #expect(copy.shade == .dark && copy.priority == .normal && copy.code == .some && copy.word == .in)
    #expect(copy.maybeCode == Code.none && copy.huge == .bigger && copy.lastWord == .where)
    #expect(other.recentErrors.isEmpty)
    #expect(try Painting.objects(matching: \.word, .in, in: context) == [painting])
    #expect(try Painting.objects(matching: \.shade, .light, in: context).isEmpty)
    #expect(Word.in.rawValue == "b\"c" && Word.case.rawValue == "d\\e")
  }

  @Test func anUnknownRawValueReadsAsTheDefaultAndStaysInTheStore() async throws {
    let store = try TestStore(.file, EnumsModel.self)
    defer { store.remove() }
    let query = "SELECT shade, priority, code, word, huge FROM Painting"
    let first = store.container.newContext()
    let original = Painting(shade: .dark, in: first)
    (original.priority, original.code, original.word) = (.high, .some, .in)
    try first.save()
    try store.execute("UPDATE Painting SET shade = 'sepia', priority = 9, code = 7, word = 'zz'")

    let context = try store.reopened().newContext()
    var errors = context.errors.makeAsyncIterator()
    let painting = try #require(try Painting.objects(in: context).first)
    #expect(context.recentErrors.isEmpty)
    // The first case, or the default; of an optional one too.
    #expect(painting.shade == .light && painting.priority == .normal)
    #expect(painting.code == Code.none && painting.word == .default)
    let reports = context.recentErrors
    #expect(reports.map(\.property) == ["shade", "priority", "code", "word"])
    #expect(reports.allSatisfy { $0.reason == .unknownCase && $0.entity == "Painting" })
    #expect(reports.allSatisfy { $0.objectID == painting.objectID })
    #expect(await errors.next() == reports[0])
    #expect(!context.hasChanges)

    // What is not overwritten stays, though the object is saved.
    painting.huge = .big
    painting.priority = .low
    try context.save()
    #expect(
      try store.row(query) == [
        "shade": "sepia", "priority": "0", "code": "7", "word": "zz", "huge": "5000000000",
      ])
    (painting.shade, painting.code, painting.word) = (.dark, nil, .class)
    try context.save()
    #expect(
      try store.row(query) == [
        "shade": "dark", "priority": "0", "code": nil, "word": "f", "huge": "5000000000",
      ])
  }

  @Test(arguments: StorePlace.allCases)
  func compositesAreAColumnAField(place: StorePlace) throws {
    let store = try TestStore(place, CompositesModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let span = Span(
      from: Date(timeIntervalSinceReferenceDate: 1), to: Date(timeIntervalSinceReferenceDate: 2),
      token: UUID(), kind: .north, link: URL(filePath: "/a"), bytes: Data(), writer: "w")
    let shop = Shop(place: Place(street: "Main"), hours: span, in: context)
    #expect(shop.home.street == "A \"quoted\" street" && shop.home.region == .north && shop.delivery == nil)
    shop.delivery = Place(street: "Side", city: "Concord")
    try context.save()
    let other = try store.reopened().newContext()
    let copy = try #require(try Shop.objects(in: other).first)
    #expect(copy.place == Place(street: "Main") && copy.delivery?.city == "Concord" && copy.hours == span)
    #expect(copy.opened == nil)
    #expect(try Shop.fetch(where: \.delivery.city == "Concord", in: other) == [copy])
    #expect(try Shop.fetch(where: \.place.city == nil, in: other) == [copy])
  }

  @Test(arguments: StorePlace.allCases)
  func codablesAreJSON(place: StorePlace) throws {
    let store = try TestStore(place, CodablesModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let profile = Profile(tags: ["a", "b"], others: [UUID()], in: context)
    profile.scores = ["x": 1]
    try context.save()
    let other = try store.reopened().newContext()
    let copy = try #require(try Profile.objects(in: other).first)
    #expect(copy.tags == ["a", "b"] && copy.scores == ["x": 1] && copy.others?.count == 1)
    #expect(copy.dates == nil && copy.parts == nil && copy.cached == nil)
  }

  /// JSON has no infinity.
  @Test(arguments: StorePlace.allCases)
  func aCodableThatCannotBeEncodedIsRefusedAndStays(place: StorePlace) throws {
    let store = try TestStore(place, CodablesModel.self)
    defer { store.remove() }
    let context = store.container.newContext()
    let profile = Profile(tags: ["a", "b"], others: [UUID()], in: context)
    try context.save()
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let endless = [Date(timeIntervalSinceReferenceDate: .infinity)]
    profile.dates = endless
    undoManager.endEvent()
    #expect(context.hasChanges)
    try expectRefusal(of: ["dates"], in: context)
    // Nothing else that happens to the object changes the value.
    profile.tags = ["c"]
    undoManager.endEvent()
    context.undo()
    #expect(profile.tags == ["a", "b"] && profile.dates == endless)
    context.refresh(profile, mergeChanges: true)
    #expect(profile.dates == endless && context.hasChanges)
    context.undo()
    #expect(profile.dates == nil && !context.hasChanges)
    context.redo()
    #expect(profile.dates == endless && context.hasChanges)
    profile.dates = nil
    profile.tags = nil
    try expectRefusal(of: ["tags"], reason: .missingValue, in: context)
  }

  @Test func aChildDoesNotPassOnACodableThatCannotBeEncoded() throws {
    let context = try PersistentContainer(inMemoryFor: CodablesModel.self).newContext()
    try withExtendedLifetime(context) {
      let profile = Profile(tags: ["a"], others: [], in: context)
      try context.save()
      let child = ManagedObjectContext(parent: context)
      let draft = try child.localInstance(of: profile)
      let endless = [Date(timeIntervalSinceReferenceDate: .infinity)]
      draft.dates = endless
      try expectRefusal(of: ["dates"], in: child)
      #expect(profile.dates == nil && draft.dates == endless && !context.hasChanges)
      child.rollback()
      // The child sees the parent's value, and leaves it alone.
      profile.dates = endless
      _ = try Profile.objects(in: child)
      draft.tags = ["b"]
      #expect(draft.dates == endless)
      try child.save()
      #expect(profile.tags == ["b"] && profile.dates == endless)
    }
  }

  /// No store needs its JSON. All such values look equal to the runtime.
  @Test func aTransientCodableThatCannotBeEncodedIsAValueLikeOthers() throws {
    let context = try PersistentContainer(inMemoryFor: CodablesModel.self).newContext()
    try withExtendedLifetime(context) {
      let profile = Profile(tags: ["a"], others: [], in: context)
      let former = [Date(timeIntervalSinceReferenceDate: .infinity)]
      let new = [Date(timeIntervalSinceReferenceDate: -.infinity)]
      profile.cached = former
      try context.save()
      profile.cached = new
      #expect(context.hasChanges)
      context.rollback()
      #expect(profile.cached == former && !context.hasChanges)
      profile.cached = new
      context.refresh(profile, mergeChanges: false)
      #expect(profile.cached == former && !context.hasChanges)
      context.undoManager = ContextUndoManager()
      context.perform { profile.cached = new }
      context.undo()
      #expect(profile.cached == former && !context.hasChanges)
      context.redo()
      #expect(profile.cached == new && context.hasChanges)
      context.rollback()
      let child = ManagedObjectContext(parent: context)
      let draft = try child.localInstance(of: profile)
      #expect(draft.cached == former)
      draft.cached = new
      #expect(child.hasChanges)
      try child.save()
      #expect(profile.cached == new && draft.cached == new && context.hasChanges)
      context.rollback()
      #expect(profile.cached == former && draft.cached == former)
    }
  }

  private func expectRefusal(
    of properties: [String?], reason: ValidationError.Reason = .notEncodable, in context: ManagedObjectContext
  ) throws {
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .validation(let errors) = try #require(error) else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(errors.map(\.property) == properties && errors.allSatisfy { $0.reason == reason })
  }

  @Test(arguments: StorePlace.allCases)
  func derivedAttributesFollowAtASave(place: StorePlace) throws {
    let store = try TestStore(place, ComputedModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let sheet = Sheet(title: "List", session: UUID(), in: context)
    let line = Line(sheet: sheet, in: context)
    sheet.draft = true
    try context.save()
    #expect(sheet.lineCount == 1 && sheet.shout == "List!" && sheet.last == line.added && sheet.draft)
    let other = try store.reopened().newContext()
    let copy = try #require(try Sheet.objects(in: other).first)
    #expect(copy.lineCount == 1 && copy.shout == "List!" && !copy.draft)
  }
}
