// The app's own part of the migration of CustomMigrationMany from version 1 to version 3.
//
// 'cdgen stub' has written the beginning of this file, and never changes it again. Each #error asks a question:
// replace it with a statement.
import CDRuntime
import Foundation

nonisolated struct CustomMigrationManyMigrations: CustomMigrationManyModel.Migrations {
  // MARK: Version 1 to version 2

  /// Creates the object of version 2 for an object of `Novel` of version 1. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 2 for an object of `Record` of version 1. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 2 for an object of `Visitor` of version 1 with `isGuest == NO`. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 2 for an object of `Visitor` of version 1 with `isGuest == YES`. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 2 for an object of `Visitor` of version 1 with `isGuest == YES`. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 2 for an object of `Keeper` of version 1. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the objects of `Statistic` of version 2, which have no source objects. Called before all other objects are created.
  func makeStatisticInStep1To2(in manager: MigrationManager) throws {
    for key in ["a", "b"] {
      _ = try CustomMigrationManyModel.NewVersion2.Statistic(key: key, amount: 0, in: manager)
    }
  }

  // Further functions, which do nothing unless you implement them:
  // - func relateNovel(_ destination: CustomMigrationManyModel.NewVersion2.Novel, from source: CustomMigrationManyModel.Version1.Novel,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateRecord(_ destination: CustomMigrationManyModel.NewVersion2.Record, from source: CustomMigrationManyModel.Version1.Record,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateRegulars(_ destination: CustomMigrationManyModel.NewVersion2.Reader, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateNewcomers(_ destination: CustomMigrationManyModel.NewVersion2.Reader, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateGuest(_ destination: CustomMigrationManyModel.NewVersion2.Guest, from source: CustomMigrationManyModel.Version1.Visitor,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateGuest(_ destination: CustomMigrationManyModel.NewVersion2.Guest, from source: CustomMigrationManyModel.Version1.Keeper,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func beginStep1To2, endStep1To2, validateStep1To2(in manager: MigrationManager) throws

  // MARK: Version 2 to version 3

  /// Creates the object of version 3 for an object of `Novel` of version 2. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  /// Creates the object of version 3 for an object of `Reader` of version 2. Returns nil to leave it out.
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
    // The properties already have the values of rules and inference. Set other values here: made.… = …
    return made
  }

  // Further functions, which do nothing unless you implement them:
  // - func relateNovel(_ destination: CustomMigrationManyModel.NewVersion3.Novel, from source: CustomMigrationManyModel.Version2.Novel,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func relateReader(_ destination: CustomMigrationManyModel.NewVersion3.Reader, from source: CustomMigrationManyModel.Version2.Reader,
  //   in manager: MigrationManager) throws: called when all objects exist
  // - func beginStep2To3, endStep2To3, validateStep2To3(in manager: MigrationManager) throws
}
