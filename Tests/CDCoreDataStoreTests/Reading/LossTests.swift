import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// What a store has and a copy cannot: it is named, and nothing is copied unless the loss is accepted.
@Suite("What copies of Core Data's stores cannot have") struct LossTests {
  private static let sample = "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 6, 1)"

  struct Case: CustomTestStringConvertible, Sendable {
    var sql: String
    var loss: String
    /// A query of the copy that the losses were accepted for, and its answer; nil where they cannot be.
    var accepted: (String, String)?
    var testDescription: String { loss }
  }

  static let cases = [
    Case(
      sql: "UPDATE ZSAMPLE SET ZSMALL = 40000", loss: "Sample p1, small: a number that does not fit Int16",
      accepted: ("SELECT small FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZMIDDLE = 1.5", loss: "Sample p1, middle: a number that does not fit Int32",
      accepted: ("SELECT middle FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZSINGLE = 1e39", loss: "Sample p1, single: a number that does not fit Float",
      accepted: ("SELECT single FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZLARGE = 'many'", loss: "Sample p1, large: text, which is not of type Int64",
      accepted: ("SELECT large FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZTEXT = x'ff'", loss: "Sample p1, text: bytes, which is not of type String",
      accepted: ("SELECT text FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZTEXT = CAST(x'ff' AS TEXT)",
      loss: "Sample p1, text: text that is not UTF-8, which is not of type String",
      accepted: ("SELECT text FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZPRICE = 'dear'", loss: "Sample p1, price: an invalid Decimal",
      accepted: ("SELECT price FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZCODE = x'00'", loss: "Sample p1, code: bytes, which is not of type UUID",
      accepted: ("SELECT code FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZMADE = 'then'", loss: "Sample p1, made: text, which is not of type Date",
      accepted: ("SELECT made FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZMADE = 9e999", loss: "Sample p1, made: a number, which is not of type Date",
      accepted: ("SELECT made FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZWORDS = x'00'",
      loss:
        "Sample p1, words: an archive that cannot be decoded as '[String]'; an attribute of type Data would keep the "
        + "archive", accepted: ("SELECT words FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZSCAN = x'0507'",
      loss: "Sample p1, scan: its first byte marks neither a value in the row nor a value in a file",
      accepted: ("SELECT scan FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZSCAN = x'022e2e2f2e2e2f7365637265740000'",
      loss: "Sample p1, scan: it contains an invalid file name",
      accepted: ("SELECT scan FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZSAMPLE SET ZSCAN = CAST(x'02' || '5F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F01' AS BLOB)",
      loss:
        "Sample p1, scan: its file 5F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F01 is not in the folder of the store's external "
        + "data", accepted: ("SELECT scan FROM Sample", "NULL")),
    Case(
      sql: "UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 2",
      loss: "Author p2, name: it has no value, but is mandatory and has no default",
      accepted: ("SELECT name FROM Author WHERE _pk = 2", "")),
    Case(
      sql: "UPDATE ZITEM SET ZAUTHOR = 77 WHERE Z_PK = 1",
      loss: "Book p1, author: its object, p77, does not exist",
      accepted: ("SELECT author FROM Item WHERE _pk = 1", "NULL")),
    Case(
      sql: "UPDATE ZITEM SET ZAUTHOR = 'Ada' WHERE Z_PK = 1",
      loss: "Book p1, author: text, which is not the number of an object",
      accepted: ("SELECT author FROM Item WHERE _pk = 1", "NULL")),
    Case(
      sql: "UPDATE ZPASSPORT SET ZHOLDER = NULL; UPDATE ZAUTHOR SET ZPASSPORT = NULL",
      loss: "Passport p1, holder: it has no object, but is mandatory", accepted: nil),
    Case(
      sql: "UPDATE ZAUTHOR SET ZPASSPORT = 1 WHERE Z_PK = 2",
      loss: "Author p2, passport: its object does not exist, or does not refer back to it",
      accepted: ("SELECT holder FROM Passport", "1")),
    Case(
      sql: "INSERT INTO Z_3TAGS VALUES (1, 99, 1)",
      loss:
        "Book p1, tags: its object p99 does not exist, or has an entity that the relationship does not allow",
      accepted: ("SELECT count(*) FROM \"Book.tags\"", "4")),
    Case(
      sql: "INSERT INTO Z_3TAGS VALUES (4, 1, 1)",
      loss: "Book p4, tags: the object of a pair does not exist, or has another entity",
      accepted: ("SELECT count(*) FROM \"Book.tags\"", "4")),
  ]

  @Test(arguments: cases) func aLossIsNamedAndMustBeAccepted(_ given: Case) throws {
    let store = try ShelfStore(rows: ShelfStore.rows + [Self.sample], extra: [given.sql])
    let model = try ShelfModel.model()
    func copy(acceptsLosses: Bool) throws -> CoreDataStoreCopy {
      try CoreDataStore(at: store.url).copy(
        to: .sqlite(store.copy), model: model, acceptsLosses: acceptsLosses)
    }
    func losses(acceptsLosses: Bool) -> [String] {
      do {
        _ = try copy(acceptsLosses: acceptsLosses)
        return []
      } catch CoreDataStoreError.losses(_, let losses) {
        return losses.first.map(\.description)
      } catch {
        return ["\(error)"]
      }
    }
    #expect(losses(acceptsLosses: false) == [given.loss])
    let names = try FileManager.default.contentsOfDirectory(atPath: store.folder.path())
    #expect(names == ["Shelf.sqlite"])
    guard let accepted = given.accepted else {
      #expect(losses(acceptsLosses: true) == [given.loss])
      return
    }
    #expect(try copy(acceptsLosses: true).losses.first.map(\.description) == [given.loss])
    #expect(try store.copied(accepted.0) == [[accepted.1]])
  }

  @Test func aValueInTheColumnOfAnotherEntityIsNone() throws {
    let store = try ShelfStore(extra: [
      "UPDATE ZITEM SET ZISSUE = 3, ZNOTE1 = 'every' WHERE Z_ENT = 3", "UPDATE ZITEM SET ZNOTE1 = 'every'",
    ])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(
      copy.remarks.prefix(2) == [
        "3 objects of 'Book' have a value in ZITEM.ZISSUE, the column of another entity, which is not taken over",
        "3 objects of 'Book' have a value in ZITEM.ZNOTE1, the column of another entity, which is not taken over",
      ])
    #expect(
      try store.copied("SELECT \"Book.note\", \"Magazine.note\", issue FROM Item ORDER BY _pk")
        == [
          ["first", "NULL", "NULL"], ["NULL", "NULL", "NULL"], ["NULL", "NULL", "NULL"],
          ["NULL", "every", "12"],
        ])
  }

  /// A migration in place has given the default of the magazines' note to the books.
  @Test(arguments: [false, true]) func aDefaultOfAnotherEntityIsNoValue(hasMagazine: Bool) throws {
    let everywhere = "UPDATE ZITEM SET ZNOTE = NULL, ZNOTE1 = 'every'"
    let withoutMagazine = ["DELETE FROM ZITEM WHERE Z_ENT = 4", "UPDATE ZITEM SET ZSEQUEL = NULL"]
    let store = try ShelfStore(extra: [everywhere] + (hasMagazine ? [] : withoutMagazine))
    let model = try magazinesWithADefault()
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model)
    #expect(
      copy.remarks.contains(
        "3 objects of 'Book' have a value in ZITEM.ZNOTE1, the column of another entity, which is not taken over"
      ))
    #expect(
      try store.copied("SELECT DISTINCT \"Book.note\" FROM Item WHERE _entity = 'Book'") == [["NULL"]])
    #expect(
      try store.copied("SELECT \"Magazine.note\" FROM Item WHERE _entity = 'Magazine'")
        == (hasMagazine ? [["every"]] : []))
  }

  /// A book that was inserted after the migration does not have the default.
  @Test func aDefaultThatSomeRowsDoNotHaveIsThatOfItsColumn() throws {
    let store = try ShelfStore(extra: [
      "UPDATE ZITEM SET ZNOTE = NULL, ZNOTE1 = 'every'", "UPDATE ZITEM SET ZNOTE1 = NULL WHERE Z_PK = 1",
    ])
    _ = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: magazinesWithADefault())
    #expect(
      try store.copied("SELECT DISTINCT \"Book.note\" FROM Item WHERE _entity = 'Book'") == [["NULL"]])
  }

  private func magazinesWithADefault() throws -> ManagedObjectModel {
    var model = try ShelfModel.model([ShelfModel.element(1)])
    let magazine = try #require(model.versions[0].entities.firstIndex { $0.name == "Magazine" })
    let attributes = model.versions[0].entities[magazine].attributes
    let note = try #require(attributes.firstIndex { $0.name == "note" })
    model.versions[0].entities[magazine].attributes[note].defaultValue = .value(.string("every"))
    return model
  }

  @Test func aMandatoryAttributeWithoutAValueGetsItsDefault() throws {
    let store = try ShelfStore(extra: ["UPDATE ZITEM SET ZPAGES = NULL WHERE Z_PK IN (1, 2)"])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(
      copy.remarks.contains(
        "'pages' of 'Book' is mandatory, but had no value in 2 objects; it got its default"))
    #expect(try store.copied("SELECT pages FROM Item WHERE _pk < 4 ORDER BY _pk") == [["7"], ["7"], ["300"]])
  }

  @Test func aOneToOneRelationshipThatOneSideAloneHasIsOnBoth() throws {
    let store = try ShelfStore(extra: ["UPDATE ZAUTHOR SET ZPASSPORT = NULL"])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(
      copy.remarks.contains("'holder' of 'Passport' was set on one side only in 1 object; it was set on both")
    )
    #expect(try store.copied("SELECT holder FROM Passport") == [["1"]])
  }

  /// The copy has a column for the passport's side only.
  @Test func aOneToOneRelationshipThatTheOtherSideAloneHasIsOnBoth() throws {
    let store = try ShelfStore(extra: ["UPDATE ZPASSPORT SET ZHOLDER = NULL"])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(copy.losses.count == 0)
    #expect(
      copy.remarks.contains("'holder' of 'Passport' was set on one side only in 1 object; it was set on both")
    )
    #expect(try store.copied("SELECT holder FROM Passport") == [["1"]])
  }

  @Test func theFirstOfTwoObjectsGetsTheOneThatRefersToNeither() throws {
    let store = try ShelfStore(extra: [
      "UPDATE ZPASSPORT SET ZHOLDER = 0", "UPDATE ZAUTHOR SET ZPASSPORT = 1",
    ])
    let copy = try CoreDataStore(at: store.url).copy(
      to: .sqlite(store.copy), model: ShelfModel.model(), acceptsLosses: true)
    #expect(
      copy.losses.first.map(\.description) == [
        "Author p2, passport: its object does not exist, or does not refer back to it"
      ])
    #expect(try store.copied("SELECT holder FROM Passport") == [["1"]])
  }

  @Test func allLossesAreCountedAndTheFirstAreNamed() throws {
    let store = try ShelfStore(rows: [
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
        + "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZSMALL) SELECT i, 6, 1, 99999 FROM n"
    ])
    let model = try ShelfModel.model()
    let error = #expect(throws: CoreDataStoreError.self) {
      try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model)
    }
    guard case .losses(_, let losses)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(losses.count == 1500)
    #expect(losses.first.count == 1000)
    #expect(losses.description.hasSuffix("  and 1480 more"))
  }

  /// SQLite has no NaN but as text, so that Core Data keeps it of Decimals alone.
  @Test func notANumberIsNil() throws {
    let store = try ShelfStore(
      rows: ShelfStore.rows + [Self.sample], extra: ["UPDATE ZSAMPLE SET ZPRICE = 'NaN'"])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(copy.losses.count == 0)
    #expect(
      copy.remarks.contains("'price' of 'Sample' was NaN in 1 object; it was set to nil"))
    #expect(try store.copied("SELECT price FROM Sample") == [["NULL"]])
  }

  @Test func keyZeroIsNoObject() throws {
    let store = try ShelfStore(extra: [
      "UPDATE ZITEM SET ZAUTHOR = 0 WHERE Z_PK = 1", "UPDATE ZAUTHOR SET ZPASSPORT = 0 WHERE Z_PK = 2",
    ])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(copy.losses.count == 0)
    #expect(try store.copied("SELECT author FROM Item WHERE _pk = 1") == [["NULL"]])
  }

  /// Core Data asks only the rows of a table with several entities of which they are.
  @Test func rowsAreOfTheOneEntityOfTheirTable() throws {
    let store = try ShelfStore(
      rows: ShelfStore.rows,
      extra: ["UPDATE ZTAG SET Z_ENT = 1 WHERE Z_PK = 1", "UPDATE ZTAG SET Z_ENT = NULL WHERE Z_PK = 2"])
    #expect(try CoreDataStore(at: store.url).entities.first { $0.name == "Tag" }?.count == 3)
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(copy.losses.count == 0 && copy.counts["Tag"] == 3)
    #expect(
      copy.remarks.contains(
        "ZTAG has 2 objects marked as another entity's than 'Tag', which alone has its objects there; taken for its "
          + "own, as in Core Data"))
    #expect(try store.copied("SELECT count(*) FROM \"Book.tags\"") == [["4"]])
  }
}
