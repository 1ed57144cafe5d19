import CDRuntime
import Foundation
import ShadowedNames
import Testing

/// Names that mean something in Swift or to generated code, used as an app uses them.
@Suite struct NamingTests {
  @Test(arguments: StorePlace.allCases)
  func keywordsAreProperties(place: StorePlace) throws {
    let store = try TestStore(place, NamingModel.self)
    defer { store.remove() }
    let context = store.container.newContext()
    let first = WordList(in: context)
    let words = words(1, operator: first, in: context)
    first.in = 2
    (first.class, first.await, first.get, first.newValue, first.context) = ("c2", 3, "g2", "n2", "x2")
    (first.any, first.number, first.save, first.remove, first.row) = ("a2", 4, "s2", "r2", "w2")
    (first.slot, first.writer, first.key, first.object, first.operator) = (5, 6, 7, "o2", words)
    words.switch = .sad
    words.repeat = first
    words.where = [first, words]
    (words.func, words.set, words.error, words.objects, words.default) = ("f", "s", "e", "os", true)
    try context.save()

    let other = try store.reopened().newContext()
    let copy = try #require(try WordList.object(in: 1, default: true, in: other))
    let second = try #require(try WordList.object(context: "x2", in: other))
    #expect(copy.in == 1 && copy.default && copy.class == "c" && copy.func == "f" && copy.await == 2)
    #expect(copy.get == "g" && copy.set == "s" && copy.newValue == "n" && copy.context == "x")
    #expect(copy.switch == .sad && copy.any == "a" && copy.number == 9 && copy.save == "sv")
    #expect(copy.remove == "r" && copy.error == "e" && copy.row == "w" && copy.slot == 3)
    #expect(copy.writer == 4 && copy.key == 5 && copy.object == "o" && copy.objects == "os")
    #expect(copy.repeat === second && copy.where == [second, copy] && copy.operator === second)
    #expect(second.in == 2 && second.class == "c2" && second.await == 3 && second.number == 4)
    #expect(second.remove == "r2" && second.object == "o2" && second.key == 7 && second.operator === copy)
    #expect(try WordList.fetch(where: \.switch == .sad && \.default == true, in: other) == [copy])
    #expect(try WordList.objects(matching: [.in: 2, .class: "c2"], in: other) == [second])
    #expect(try WordList.WordList(text: "g", in: other) == [copy])
  }

  @Test(arguments: StorePlace.allCases)
  func namesOfGeneratedCodeAndOfTypesAreProperties(place: StorePlace) throws {
    let store = try TestStore(place, NamingModel.self)
    defer { store.remove() }
    let context = store.container.newContext()
    let storage = Storage(
      decode: "d", missing: true, unknown: .sad, willRead: 1, willWrite: 2, toOne: "t", seed: "s",
      setReference: "r", fetched: "f", in: context)
    (storage.encode, storage.add, storage.insert) = ("e", Date(timeIntervalSinceReferenceDate: 5), storage)
    storage.addToToMany(storage)
    let root = Upper(in: context)
    (root.Mood, root.String, root.Int, root.Upper) = (.happy, "root", 1, root)
    let upper = Upper(Mood: .sad, String: "upper", Int: 2, Upper: root, in: context)
    (upper.Date, upper.Äpfel) = (Date(timeIntervalSinceReferenceDate: 6), root)
    let word = words(1, operator: nil, in: context)
    upper.addToWords(word)
    try context.save()

    let other = try store.reopened().newContext()
    let copy = try #require(try Storage.objects(in: other).first)
    #expect(copy.decode == "d" && copy.encode == "e" && copy.missing && copy.unknown == .sad)
    #expect(copy.willRead == 1 && copy.willWrite == 2 && copy.toOne == "t" && copy.seed == "s")
    #expect(copy.setReference == "r" && copy.fetched == "f" && copy.insert === copy && copy.toMany == [copy])
    #expect(copy.add == Date(timeIntervalSinceReferenceDate: 5))
    let second = try #require(try Upper.object(matching: \.String, "upper", in: other))
    #expect(second.Mood == .sad && second.Int == 2 && second.Upper.String == "root")
    #expect(second.Date == Date(timeIntervalSinceReferenceDate: 6) && second.Äpfel === second.Upper)
    #expect(second.Words.map(\.in) == [1] && second.Upper.Mood == .happy && second.Upper.Date == nil)
  }

  @Test(arguments: StorePlace.allCases)
  func typesCalledAsTheRuntimesAreUsedFromAnotherModule(place: StorePlace) throws {
    let store = try TestStore(place, ShadowingModel.self)
    defer { store.remove() }
    let context = store.container.newContext()
    let attribute = ShadowedNames.Attribute(
      state: .off, date: Date(timeIntervalSinceReferenceDate: 1), text: "a", in: context)
    let fields = ShadowedNames.Fields(in: context)
    (fields.number, fields.one) = (Decimal(2), attribute)
    let operation = ShadowedNames.Operation(in: context)
    let model = ShadowedNames.Model(in: context)
    model.bytes = Data([1])
    operation.addToModels(model)
    _ = ShadowedNames.ToOne(value_: 0.5, in: context)
    ShadowedNames.ToMany(in: context).text = "m"
    _ = ShadowedNames.AttributeKey(text: "k", in: context)
    try context.save()

    let other = try store.reopened().newContext()
    let copy = try #require(try ShadowedNames.Fields.objects(in: other).first)
    #expect(copy.number == 2 && copy.one?.text == "a" && copy.one?.state == .off)
    #expect(copy.one?.date == Date(timeIntervalSinceReferenceDate: 1))
    #expect(try ShadowedNames.Operation.objects(in: other).map { $0.models.map(\.bytes) } == [[Data([1])]])
    #expect(try ShadowedNames.ToOne.fetch(where: \.value_ > 0.4, in: other).map(\.value_) == [0.5])
    #expect(try ShadowedNames.ToMany.withText(text: "m", in: other).count == 1)
    #expect(try ShadowedNames.AttributeKey.object(text: "k", in: other)?.text == "k")
  }

  /// A `Words` object with a text of its own in each property; it leads to itself where no other is given.
  private func words(_ number: Int64, operator other: WordList?, in context: ManagedObjectContext) -> WordList
  {
    if let other {
      return WordList(
        in: number, class: "c", await: 2, get: "g", newValue: "n", context: "x", any: "a", number: 9,
        save: "sv", remove: "r", row: "w", slot: 3, writer: 4, key: 5, object: "o", operator: other,
        in: context)
    }
    let words = WordList(in: context)
    (words.in, words.class, words.await, words.get, words.newValue) = (number, "c", 2, "g", "n")
    (words.context, words.any, words.number, words.save, words.remove) = ("x", "a", 9, "sv", "r")
    (words.row, words.slot, words.writer, words.key, words.object) = ("w", 3, 4, 5, "o")
    words.operator = words
    return words
  }
}
