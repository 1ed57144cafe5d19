// The app's own part of the migration of CustomMigrationMany from version 1 to version 3.
//
// Begun by 'cdgen stub', and from here on yours. Only you can answer the questions marked with #error: put
// a statement in the place of each.
import CDRuntime
import Foundation

nonisolated struct CustomMigrationManyMigrations: CustomMigrationManyModel.Migrations {
  // MARK: Version 1 to version 2

  /// Makes what an object of `Novel` of version 1 becomes in version 2; nil leaves it out.
  ///
  /// - Kept as they are: `title`, `pages`, `shelf`.
  /// - Only the app knows: `code`.
  func makeNovel(
    from source: CustomMigrationManyModel.Version1.Novel, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Novel? {
    // Not taken over yet:
    // - source.code: Swift.String
    let code: Swift.Int64
    code = Int64(source.code) ?? -1
    let made = try CustomMigrationManyModel.NewVersion2.Novel(
      from: source, code: code, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Record` of version 1 becomes in version 2; nil leaves it out.
  ///
  /// - Kept as they are: `title`, `shelf`.
  /// - Only the app knows: `code`, `minutes`.
  func makeRecord(
    from source: CustomMigrationManyModel.Version1.Record, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Record? {
    // Not taken over yet:
    // - source.code: Swift.String
    // - source.minutes: Swift.String
    let code: Swift.Int64
    code = Int64(source.code) ?? -1
    let minutes: Swift.Int32
    minutes = Int32(source.minutes) ?? 0
    let made = try CustomMigrationManyModel.NewVersion2.Record(
      from: source, code: code, minutes: minutes, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Visitor` of version 1 becomes in version 2, of those where `isGuest == NO`; nil leaves it out.
  ///
  /// - Only the app knows: `name`.
  func makeRegulars(
    from source: CustomMigrationManyModel.Version1.Visitor, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Reader? {
    // Not taken over yet:
    // - source.first: Swift.String
    // - source.last: Swift.String
    // - source.isGuest: Swift.Bool
    let name: Swift.String
    name = source.first + " " + source.last
    let made = try CustomMigrationManyModel.NewVersion2.Reader(
      fromRegulars: source, name: name, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Visitor` of version 1 becomes in version 2, of those where `isGuest == YES`; nil leaves it out.
  ///
  /// - Only the app knows: `name`.
  func makeNewcomers(
    from source: CustomMigrationManyModel.Version1.Visitor, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Reader? {
    // Not taken over yet:
    // - source.first: Swift.String
    // - source.last: Swift.String
    // - source.isGuest: Swift.Bool
    let name: Swift.String
    guard source.last != "Nobody" else { return nil }
    name = source.first
    let made = try CustomMigrationManyModel.NewVersion2.Reader(
      fromNewcomers: source, name: name, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Visitor` of version 1 becomes in version 2, of those where `isGuest == YES`; nil leaves it out.
  ///
  /// - Only the app knows: `name`, `badge`.
  func makeGuest(
    from source: CustomMigrationManyModel.Version1.Visitor, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Guest? {
    // Not taken over yet:
    // - source.first: Swift.String
    // - source.last: Swift.String
    // - source.isGuest: Swift.Bool
    let name: Swift.String
    name = source.first
    let badge: Swift.Int64
    badge = Int64(source.last.count)
    let made = try CustomMigrationManyModel.NewVersion2.Guest(
      from: source, name: name, badge: badge, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Keeper` of version 1 becomes in version 2; nil leaves it out.
  ///
  /// - Kept as they are: `name`.
  /// - Only the app knows: `badge`.
  func makeGuest(
    from source: CustomMigrationManyModel.Version1.Keeper, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion2.Guest? {
    let badge: Swift.Int64
    badge = -1
    let made = try CustomMigrationManyModel.NewVersion2.Guest(
      from: source, badge: badge, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes the objects of `Statistic` in version 2, which come of none of version 1. Called before any other object is made.
  func makeStatisticInStep1To2(in manager: MigrationManager) throws {
    for key in ["a", "b"] {
      _ = try CustomMigrationManyModel.NewVersion2.Statistic(key: key, amount: 0, in: manager)
    }
  }

  // There are further hooks, which do nothing unless they are implemented:
  // - func relateNovel(_ destination: CustomMigrationManyModel.NewVersion2.Novel, from source: CustomMigrationManyModel.Version1.Novel,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateRecord(_ destination: CustomMigrationManyModel.NewVersion2.Record, from source: CustomMigrationManyModel.Version1.Record,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateRegulars(_ destination: CustomMigrationManyModel.NewVersion2.Reader, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateNewcomers(_ destination: CustomMigrationManyModel.NewVersion2.Reader, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateGuest(_ destination: CustomMigrationManyModel.NewVersion2.Guest, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateGuest(_ destination: CustomMigrationManyModel.NewVersion2.Guest, from source: CustomMigrationManyModel.Version1.Keeper,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func beginStep1To2, endStep1To2, validateStep1To2(in manager: MigrationManager) throws

  // MARK: Version 2 to version 3

  /// Makes what an object of `Novel` of version 2 becomes in version 3; nil leaves it out.
  ///
  /// - Kept as they are: `title`, `code`, `pages`, `shelf`.
  /// - Only the app knows: `chapters`.
  func makeNovel(
    from source: CustomMigrationManyModel.Version2.Novel, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion3.Novel? {
    let chapters: Swift.Int32
    // By inheritance: what a shelf has are media, of which some are novels.
    let media = source.shelf?.media ?? []
    chapters = Int32(media.count { $0.cast(to: CustomMigrationManyModel.Version2.Novel.self) != nil })
    let made = try CustomMigrationManyModel.NewVersion3.Novel(
      from: source, chapters: chapters, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  /// Makes what an object of `Reader` of version 2 becomes in version 3; nil leaves it out.
  ///
  /// - Kept as they are: `name`.
  /// - Only the app knows: `initials`.
  func makeReader(
    from source: CustomMigrationManyModel.Version2.Reader, in manager: MigrationManager
  ) throws -> CustomMigrationManyModel.NewVersion3.Reader? {
    let initials: Swift.String
    initials = String(source.name.split(separator: " ").compactMap(\.first))
    let made = try CustomMigrationManyModel.NewVersion3.Reader(
      from: source, initials: initials, in: manager)
    // What rules and inference give is there. What is to be otherwise is set here: made.… = …
    return made
  }

  // There are further hooks, which do nothing unless they are implemented:
  // - func relateNovel(_ destination: CustomMigrationManyModel.NewVersion3.Novel, from source: CustomMigrationManyModel.Version2.Novel,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func relateReader(_ destination: CustomMigrationManyModel.NewVersion3.Reader, from source: CustomMigrationManyModel.Version2.Reader,
  //   in manager: MigrationManager) throws: when all objects have been made
  // - func beginStep2To3, endStep2To3, validateStep2To3(in manager: MigrationManager) throws
}
