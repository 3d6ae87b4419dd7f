"""Chats, letters, tables and logs of our own making, without the lines in which somebody talks."""
import random,re
import said
W=said.NOUN+'user file request worker node disk memory socket table record token page task job connected started failed ready retry closed slow empty loaded saved skipped missing found'.split()
NAMES='Lea Tom Ana Bo Kim Noor Ravi Olga Jens Mia Paul Ines Yuki Omar Eva'.split()
LAST='Berger Roth Silva Novak Smith Ito Khan Moreau Lind Vos'.split()
def build(r):
    d=lambda a=0,b=999: r.randrange(a,b)
    w=lambda: r.choice(W)
    def sent(): return r.choice(['%s %s'%(w(),w()),'%s %s %d'%(w(),w(),d()),'could not open %s'%w(),'%s %s in %d ms'%(w(),w(),d()),'the %s is %s'%(w(),w()),'%s: %s'%(w(),w()),'%s=%d %s=%s'%(w(),d(),w(),w()),'listening on :%d'%d(),'"%s /%s" %d'%(r.choice(['GET','POST']),w(),d(200,505))])
    def talk(): return r.choice(['yes','ok','nope','lol','anyone there?','I restarted it','not for me','same here','when?','thanks!','it works now','can you look at the %s?'%w(),'the %s is down again'%w(),'brb','see you at %d'%d(1,12),'who broke the %s?'%w(),'on it',"I'm at lunch, back at two",'done, please check the %s'%w()])
    def told(): return '%s: %s'%(w(),r.choice(['Detected %s %s on %d March 2026'%(w(),w(),d(1,29)),'will use the %s instead of the %s'%(w(),w()),'the %s must never be empty'%w(),'Using %s because %s is missing'%(w(),w()),'falling back to %s %d'%(w(),d()),'You should update the %s before %s'%(w(),w()),'Please run %s to fix it'%w(),'It is not possible to read the %s'%w()]))
    D='2026-%02d-%02d'%(d(1,13),d(1,29)); mon=r.choice('Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()); day=d(1,29)
    T=lambda: '%02d:%02d:%02d'%(d(0,24),d(0,60),d(0,60)); M=lambda: '%02d:%02d'%(d(0,24),d(0,60))
    lev=lambda: r.choice('INFO WARN ERROR DEBUG TRACE FATAL'.split())
    nm=r.sample(NAMES,2); full=['%s %s'%(n,r.choice(LAST)) for n in nm]; nick=[n.lower()+r.choice(['','_','42','-w']) for n in nm]
    who=lambda l: r.choice(l)
    n=d(2,9); R=range(n)
    k=d(0,46)
    while k in (7,8): k=d(0,46)
    cols=[w() for _ in range(d(2,5))]
    row=lambda: [r.choice([w(),str(d()),'%d.%02d'%(d(),d(0,99)),D]) for _ in cols]
    mod='.'.join(w() for _ in range(d(1,4)))
    if k==0: return ['[%s] <%s> %s'%(M(),who(nick),talk()) for _ in R]
    if k==1: return ['%s <%s> %s'%(T(),who(nick),talk()) for _ in R]
    if k==2: return ['%s, %s - %s: %s'%('%02d/%02d/2026'%(day,d(1,13)),M(),who(full),talk()) for _ in R]
    if k==3: return ['[%02d.%02d.26, %s] %s: %s'%(day,d(1,13),T(),who(full),talk()) for _ in R]
    if k==4: return [x for _ in R for x in ('%s  [%d:%02d %s]'%(who(full),d(1,13),d(0,60),r.choice(['AM','PM'])),talk())]
    if k==5: return [x for _ in R for x in ('%s  %d:%02d %s'%(who(full),d(1,13),d(0,60),r.choice(['AM','PM'])),talk(),'')]
    if k==6: return [x for _ in R for x in ('%s — %s'%(who(nick),r.choice(['Today at ','Yesterday at ',''])+M()),talk())]
    if k==7: return ['%s: %s'%(who(nick if d()%2 else nm),talk()) for _ in range(n+1)]
    if k==8: return ['> '+talk() for _ in R]
    if k==9: return ['On %s, %s wrote:'%(D,full[0])]+['> '+talk() for _ in R]
    if k==10: return ['From: %s <%s@example.org>'%(full[0],nick[0]),'To: %s'%full[1],'Subject: %s %s'%(w(),w()),'Date: %s, %d %s 2026 %s +0100'%(r.choice(['Mon','Tue','Fri']),day,mon,T()),'','Hi %s,'%nm[1],'',talk()+' '+talk(),'',nm[0]]
    if k==11: return ['-----Original Message-----','From: '+full[0],'Sent: Monday, %d March 2026 %s'%(day,M()),'To: '+full[1],'Subject: RE: '+w(),'',talk(),talk()]
    if k==12: return ['| '+' | '.join(cols)+' |','|'+'|'.join(r.choice(['---','----',':---','---:',' --- ']) for _ in cols)+'|']+['| '+' | '.join(row())+' |' for _ in R]
    if k==13:
        L=[cols]+[row() for _ in R]; wd=[max(len(x[i]) for x in L) for i in range(len(cols))]
        bar='+'+'+'.join('-'*(x+2) for x in wd)+'+'
        fm=lambda x:'| '+' | '.join(y.ljust(z) for y,z in zip(x,wd))+' |'
        return [bar,fm(L[0]),bar]+[fm(x) for x in L[1:]]+[bar]+r.choice([[],['%d rows in set (0.%02d sec)'%(n,d(0,99))]])
    if k==14:
        L=[cols]+[row() for _ in R]; wd=[max(len(x[i]) for x in L)+r.choice([2,3]) for i in range(len(cols))]
        if d()%2: L[0]=[x.upper() for x in L[0]]
        return [''.join(y.ljust(z) for y,z in zip(x,wd)).rstrip() for x in L]
    if k==15: s=r.choice([',',';','\t',', ']); return [s.join(x) for x in [cols]+[row() for _ in R]]
    if k==16: s=r.choice([',','\t',';']); return [s.join('"%s"'%y for y in x) for x in [cols]+[row() for _ in R]]
    if k==17: return ['%s %s %s %s'%(D,T(),lev(),sent()) for _ in R]
    if k==18: return ['%sT%sZ %s %s'%(D,T(),lev().lower(),sent()) for _ in R]
    if k==19: return ['%s %s,%03d - %s - %s - %s'%(D,T(),d(),mod,lev(),sent()) for _ in R]
    if k==20: return ['[%s] %s'%(T(),sent()) for _ in R]
    if k==21: return ['%s %s'%(T(),r.choice([sent,told])()) for _ in R]
    if k==22: return ['%s %2d %s %s %s[%d]: %s'%(mon,day,T(),nick[0],w(),d(),sent()) for _ in R]
    if k==23: return ['%s: %s'%(lev().title() if d()%2 else lev(),sent()) for _ in R]
    if k==24: return ['[%s] %s'%(r.choice([lev(),lev().lower(),w()]),r.choice([sent,told])()) for _ in R]
    if k==25: return ['%s  | %s'%(w()+'-%d'%d(1,4),sent()) for _ in R]
    if k==26: return ['{"level":"%s","time":%d,"msg":"%s","%s":"%s"}'%(lev().lower(),1700000000+d(),sent().replace('"',"'"),w(),w()) for _ in R]
    if k==27: return ['level=%s ts=%sT%sZ msg="%s" %s=%d'%(lev().lower(),D,T(),sent().replace('"',''),w(),d()) for _ in R]
    if k==28: return ['%s=%s'%(w().upper()+'_'+w().upper(),r.choice([w(),str(d()),'/srv/'+w(),'true'])) for _ in R]
    if k==29: return ['[%s]'%w()]+['%s = %s'%(w(),r.choice([w(),str(d()),'"%s"'%w(),'false'])) for _ in R]
    if k==30: return ['%s:'%w()]+['  %s%s: %s'%(r.choice(['','- ']),w(),r.choice([w(),str(d()),'"%s"'%w(),'[]'])) for _ in R]
    if k==31: return ['%s: %s'%(w().title()+' '+w(),r.choice([str(d()),w(),'%d kB'%d(),D,'yes'])) for _ in R]
    if k==32: return ['BEGIN:VCARD','FN:'+full[0],'TEL;TYPE=home:+49 %d %d'%(d(),d()),'EMAIL:%s@example.org'%nick[0],'END:VCARD']
    if k==33: return ['BEGIN:VCALENDAR','DTSTART:2026%02d%02dT%06dZ'%(d(1,12),day,d()),'SUMMARY:'+talk(),'LOCATION:'+w(),'END:VCALENDAR']
    if k==34: return [x for i in R for x in (str(i+1),'00:0%d:%02d,000 --> 00:0%d:%02d,500'%(i,d(0,60),i,d(0,60)),talk(),'')]
    if k==35: return ['%s/%s/%s.%s'%(r.choice(['src','lib','/srv/app','./pkg','test']),w(),w(),r.choice(['ts','go','py','rb','css'])) for _ in R]
    if k==36: return ['%s:%d:%d: %s: %s'%(r.choice(said.FILES),d(),d(1,80),r.choice(['error','warning','note']),sent()) for _ in R]
    if k==37: return ['%s: %s: %s'%(w(),w()+'.'+r.choice(['c','sh','yml']),r.choice(['No such file or directory','Permission denied','not found','invalid argument','syntax error near line %d'%d()]))]*1
    if k==38: return ['%s %d%% (%d/%d)'%(w().title(),d(0,100),d(),d()) for _ in R]
    if k==39: return ['%s %s %s'%(r.choice(['✓','✗','✔','●','→','❌','⚠','•']),w(),w()) for _ in R]
    if k==40: return ['%s %s/%s HTTP/1.1'%(r.choice(['GET','PUT','POST']),'',w()),'Host: %s.example.org'%w(),'Accept: */*','User-Agent: %s/%d.%d'%(w(),d(0,9),d(0,9)),'Content-Length: %d'%d()]
    if k==41: return ['HTTP/1.1 %d %s'%(d(200,505),r.choice(['OK','Not Found','Bad Gateway'])),'content-type: application/json','x-request-id: %x'%d(10**8,10**10)]
    if k==42: return ['%s %s %s %s'%(r.choice(['PASS','FAIL','ok','---','SKIP']),w()+'/'+w()+'.test.ts',r.choice(['(%d.%ds)'%(d(0,9),d(0,99)),'%d ms'%d()]),'') for _ in R]+['Tests: %d failed, %d passed, %d total'%(d(0,9),d(),d())]
    if k==43: return ['TypeError: %s is not a %s'%(w(),w())]+['    at %s (/app/%s/%s.js:%d:%d)'%(w()+'.'+w(),w(),w(),d(),d(1,80)) for _ in R]
    if k==44: return [r.choice(['You said:','User said:','[User]: '+talk(),'**User**: '+talk(),'## User']),r.choice(['ChatGPT said:','Claude said:','[Agent]: '+talk(),'**Assistant**: '+talk(),'## Assistant'])]*2
    return ['%x'%d(10**8,10**12)+'-%04x'%d() for _ in R]


def lines(r):
    return '\n'.join(l for l in build(r) if re.search(r"[^A-Za-z ,.!?']", l))
