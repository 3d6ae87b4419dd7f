package embed

// irregularForms are what regular knows, each form=base with a space after it.
const irregularForms = "" +
	"ate=eat became=become began=begin begun=begin bent=bend best=good better=good bitten=bite " +
	"bled=bleed blew=blow blown=blow bought=buy bred=breed broke=break broken=break brought=bring " +
	"built=build burnt=burn came=come caught=catch children=child chose=choose chosen=choose clung=cling " +
	"crept=creep dealt=deal died=die drank=drink drawn=draw dreamt=dream drew=draw driven=drive " +
	"drove=drive drunk=drink dug=dig dying=die eaten=eat fallen=fall fed=feed feet=foot fell=fall " +
	"felt=feel fled=flee flew=fly flown=fly forgave=forgive forgiven=forgive forgot=forget " +
	"forgotten=forget fought=fight found=find froze=freeze frozen=freeze gave=give geese=goose " +
	"given=give goes=go going=go gone=go got=get gotten=get grew=grow grown=grow halves=half heard=hear " +
	"held=hold hid=hide hidden=hide hung=hang indices=index kept=keep knelt=kneel knew=know knives=knife " +
	"known=know laid=lay learnt=learn led=lead left=leave lent=lend lied=lie lost=lose lying=lie " +
	"made=make matrices=matrix meant=mean men=man met=meet mice=mouse mistaken=mistake mistook=mistake " +
	"overcame=overcome paid=pay people=person proven=prove ran=run rang=ring rebuilt=rebuild ridden=ride " +
	"risen=rise rode=ride rung=ring said=say sang=sing sank=sink sat=sit saw=see seen=see sent=send " +
	"sewn=sew shaken=shake shelves=shelf shone=shine shook=shake shot=shoot shown=show shrank=shrink " +
	"shrunk=shrink slept=sleep sold=sell sought=seek sped=speed spent=spend spoke=speak spoken=speak " +
	"sprang=spring sprung=spring spun=spin stole=steal stolen=steal stood=stand struck=strike " +
	"stuck=stick stung=sting sung=sing sunk=sink swam=swim swept=sweep swore=swear sworn=swear swum=swim " +
	"swung=swing taken=take taught=teach teeth=tooth thieves=thief thought=think threw=throw " +
	"thrown=throw tied=tie told=tell took=take tore=tear torn=tear tying=tie understood=understand " +
	"used=use using=use vertices=vertex went=go wept=weep withdrawn=withdraw withdrew=withdraw " +
	"wives=wife woke=wake woken=wake wolves=wolf women=woman won=win wore=wear worn=wear worse=bad " +
	"worst=bad wove=weave woven=weave written=write wrote=write "
